#include "runtime/pass_figures.h"

#include <chrono>
#include <cmath>

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

namespace {

constexpr Time figures_start{100s};

}  // namespace

TEST_CASE("L-6: average, maximum and deviation of tick durations and work, over the last 10 s") {
    PassFigures figures;
    figures.pass_ended({figures_start, 900ms, 0, 0, 0});
    for (const Duration took : {2ms, 4ms, 4ms, 4ms, 5ms, 5ms, 7ms, 9ms}) {
        figures.pass_ended({figures_start + 5s, took, 1, 2, 3});
    }

    const LoopFigures both = figures.figures(figures_start + 9'999ms);
    CHECK(both.tick_duration_max_ms == doctest::Approx(900));
    CHECK(both.tick_duration_avg_ms == doctest::Approx(940.0 / 9));

    const LoopFigures lately = figures.figures(figures_start + 10s);
    CHECK(lately.tick_duration_max_ms == doctest::Approx(9));
    CHECK(lately.tick_duration_avg_ms == doctest::Approx(5));
    CHECK(lately.tick_duration_deviation_ms == doctest::Approx(2));
    CHECK(lately.work_units_avg == doctest::Approx(6));
    CHECK(lately.ticks == 9);

    const LoopFigures later = figures.figures(figures_start + 60s);
    CHECK(later.tick_duration_avg_ms == 0);
    CHECK(later.tick_duration_deviation_ms == 0);
    CHECK(later.ticks == 9);
}

TEST_CASE("L-6: a second of the ring is used again for a later one, without what it held") {
    PassFigures figures;
    figures.pass_ended({figures_start, 100ms, 0, 0, 0});
    figures.pass_ended({figures_start + 10s, 10ms, 0, 0, 0});
    CHECK(figures.figures(figures_start + 10s).tick_duration_max_ms == doctest::Approx(10));
}

TEST_CASE("L-6: equal durations deviate by nothing") {
    PassFigures figures;
    for (int i = 0; i < 100'000; ++i) figures.pass_ended({figures_start, 333'333ns, 0, 0, 0});
    const LoopFigures shot = figures.figures(figures_start);
    CHECK_FALSE(std::isnan(shot.tick_duration_deviation_ms));
    CHECK(shot.tick_duration_deviation_ms < 0.001);
}

TEST_CASE("L-6: the histogram counts ticks of at most each bound, and all of them at its end") {
    PassFigures figures;
    for (const Duration took : {Duration(0ms), Duration(50us), Duration(50'001ns), Duration(1s), Duration(5s)}) {
        figures.pass_ended({figures_start, took, 0, 0, 0});
    }
    const TickHistogram histogram = figures.figures(figures_start).tick_durations;
    CHECK(histogram.at_most[0] == 2);
    CHECK(histogram.at_most[1] == 3);
    CHECK(histogram.at_most[TickHistogram::bounds.size() - 1] == 4);
    CHECK(histogram.at_most[TickHistogram::bounds.size()] == 5);
    CHECK(histogram.sum == 6s + 100'001ns);
}

TEST_CASE("L-6: totals of what passes told") {
    PassFigures figures;
    figures.slept();
    figures.overran();
    figures.pass_failed();
    figures.stood_still(1'500ms);
    figures.stood_still(2s);
    figures.callback_failed(HandlerKind::message);
    figures.callback_failed(HandlerKind::update);
    figures.callback_failed(HandlerKind::update);
    const LoopFigures shot = figures.figures(figures_start);
    CHECK(shot.idle_sleeps == 1);
    CHECK(shot.overruns == 1);
    CHECK(shot.failed_ticks == 1);
    CHECK(shot.gaps == 2);
    CHECK(shot.gap_seconds == doctest::Approx(3.5));
    CHECK(shot.callback_errors == std::array<std::uint64_t, handler_kinds>{1, 0, 0, 2, 0, 0});
}
