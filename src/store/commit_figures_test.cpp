#include "store/commit_figures.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("fault 2: the commit histogram is cumulative, and a bound counts what equals it") {
    CommitFigures figures;
    figures.committed(3, 1ms);
    figures.committed(4, 1'001us);
    figures.committed(5, 11s);
    const StoreFigures now = figures.now();
    const auto& bounds = commit_seconds_bounds();
    REQUIRE(now.commit_seconds_counts.size() == bounds.size() + 1);
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        const std::uint64_t expected = bounds[i] < 0.001 ? 0 : bounds[i] < 0.0025 ? 1 : 2;
        CHECK(now.commit_seconds_counts[i] == expected);
    }
    CHECK(now.commit_seconds_counts.back() == 3);
    CHECK(now.commit_seconds_sum == doctest::Approx(11.002001));
    CHECK(now.commits == 3);
    CHECK(now.records == 12);
}

TEST_CASE("fault 4: faults are counted by kind") {
    CommitFigures figures;
    figures.failed(StoreFault::full);
    figures.failed(StoreFault::full);
    figures.failed(StoreFault::transient);
    figures.died();
    CHECK(figures.now().faults_full == 2);
    CHECK(figures.now().faults_transient == 1);
    CHECK(figures.now().faults_fatal == 1);
    CHECK(figures.now().commits == 0);
}
