#include "muster/clock_estimate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/random.h"

namespace muster::sdk {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Ms = std::chrono::duration<double, std::milli>;

Time at_ms(double ms) {
    return Time(std::chrono::duration_cast<nanoseconds>(Ms(ms)));
}

double to_ms(std::chrono::microseconds duration) {
    return Ms(duration).count();
}

// Two machines whose clocks disagree, and a network between them.
struct World {
    double start_ms = 1'700'000'000'123.7;  // Muster's date when local time is 0
    double drift_ppm = 0;
    double wander_ppm = 0;     // the drift swings by so much to either side …
    double wander_hours = 24;  // … in so long
    double delay_ms = 20;
    double jitter_ms = 4;
    double retransmitted = 0.05;
    double retransmit_ms = 200;
    double asymmetry_ms = 0;  // longer on the way there, shorter on the way back

    double server_ms(double local_ms) const {
        const double period_ms = wander_hours * 3'600'000;
        const double turns = 2 * std::numbers::pi * local_ms / period_ms;
        const double wandered = wander_ppm * 1e-6 * period_ms / (2 * std::numbers::pi) * (1 - std::cos(turns));
        return start_ms + local_ms * (1 + drift_ppm * 1e-6) + wandered;
    }

    ClockSample exchange(double sent_ms, Random& random) const {
        double there = delay_ms + asymmetry_ms + jitter_ms * (2 * random.unit() - 1);
        double back = delay_ms - asymmetry_ms + jitter_ms * (2 * random.unit() - 1);
        if (random.chance(retransmitted)) (random.chance(0.5) ? there : back) += retransmit_ms;
        const auto stamp = static_cast<std::int64_t>(std::floor(server_ms(sent_ms + there)));
        return {.sent = at_ms(sent_ms), .received = at_ms(sent_ms + there + back), .stamp = milliseconds(stamp)};
    }

    double error_ms(const ClockEstimate& clock, double local_ms) const {
        return to_ms(clock.server_time(at_ms(local_ms)).time_since_epoch()) - server_ms(local_ms);
    }
};

struct Figures {
    std::vector<double> errors;
    double bound_sum = 0;
    std::size_t inside_bound = 0;
    std::size_t inside_likely = 0;

    void note(const World& world, const ClockEstimate& clock, double local_ms) {
        const double error = std::abs(world.error_ms(clock, local_ms));
        errors.push_back(error);
        bound_sum += to_ms(clock.error_bound(at_ms(local_ms)));
        inside_bound += error <= to_ms(clock.error_bound(at_ms(local_ms))) ? 1U : 0U;
        inside_likely += error <= to_ms(clock.likely_error(at_ms(local_ms))) ? 1U : 0U;
    }
    double percentile(double share) {
        std::ranges::sort(errors);
        return errors[static_cast<std::size_t>(share * static_cast<double>(errors.size() - 1))];
    }
    double share(std::size_t count) const { return static_cast<double>(count) / static_cast<double>(errors.size()); }
};

// A heartbeat every ten seconds; looked at when the answer comes and once more before the next.
void run_hours(const World& world, double hours, Random& random, Figures& figures) {
    ClockEstimate clock;
    for (double now = 1'000; now < hours * 3'600'000; now += 10'000) {
        const ClockSample sample = world.exchange(now, random);
        clock.add(sample);
        const double received = Ms(sample.received.time_since_epoch()).count();
        figures.note(world, clock, received);
        figures.note(world, clock, received + random.unit() * 9'500);
    }
}

void show(const std::string& what, Figures& figures) {
    MESSAGE(what << ": p50 " << figures.percentile(0.5) << " ms, p95 " << figures.percentile(0.95) << " ms, p99 "
                 << figures.percentile(0.99) << " ms, inside the bound " << 100 * figures.share(figures.inside_bound)
                 << " %, inside the likely error " << 100 * figures.share(figures.inside_likely) << " % of "
                 << figures.errors.size());
}

}  // namespace

TEST_CASE(
    "F-10: with 20 ms +- 4 ms one way, 5 % retransmits and 50 ppm drift the offset is within 2 ms p95 and its bound") {
    Random random(10);
    Figures figures;
    for (int run = 0; run < 10; ++run) {
        const World world{.start_ms = 1.7e12 + 1e6 * random.unit(), .drift_ppm = 100 * random.unit() - 50};
        run_hours(world, 6, random, figures);
    }
    show("constant drift", figures);
    CHECK(figures.percentile(0.95) < 2.0);
    CHECK(figures.share(figures.inside_bound) > 0.99);
    CHECK(figures.share(figures.inside_likely) > 0.99);
}

TEST_CASE("F-10: a drift that swings by 50 ppm within hours is followed within the same limits") {
    Random random(11);
    Figures figures;
    for (const double hours : {24.0, 12.0, 6.0}) {
        run_hours({.wander_ppm = 50, .wander_hours = hours}, 24, random, figures);
    }
    show("wandering drift", figures);
    CHECK(figures.percentile(0.95) < 2.0);
    CHECK(figures.share(figures.inside_bound) > 0.99);
    CHECK(figures.share(figures.inside_likely) > 0.99);
}

TEST_CASE("F-10: on a route that is slower one way the error is the asymmetry, and still inside the bound") {
    Random random(12);
    Figures figures;
    run_hours({.drift_ppm = 30, .asymmetry_ms = 10}, 6, random, figures);
    show("asymmetric route", figures);
    CHECK(figures.percentile(0.5) == doctest::Approx(10).epsilon(0.1));
    CHECK(figures.share(figures.inside_bound) == 1.0);
}

TEST_CASE("F-10: one sample gives server time minus receive time plus half the round trip") {
    ClockEstimate clock;
    CHECK_FALSE(clock.known());
    clock.add({.sent = Time(1'000ms), .received = Time(1'040ms), .stamp = 500'000ms});
    REQUIRE(clock.known());
    // The stamp stands for the middle of its millisecond.
    CHECK(clock.server_time(Time(1'040ms)) == UnixTime(500'000ms + 20ms + 500us));
    CHECK(clock.offset(Time(1'040ms), UnixTime(499'000ms)) == 1'020ms + 500us);
    CHECK(clock.drift_ppm() == 0);
    CHECK(clock.round_trip_least() == 40ms);
    CHECK(clock.error_bound(Time(1'040ms)) >= 20ms + 500us);
    CHECK(clock.error_bound(Time(1'040ms)) < 22ms);
    CHECK(clock.error_bound(Time(101s)) > clock.error_bound(Time(11s)));
}

TEST_CASE("F-10: drift is found, with its sign") {
    Random random(13);
    const World world{.drift_ppm = -42};
    ClockEstimate clock;
    for (double now = 0; now < 1'200'000; now += 10'000) clock.add(world.exchange(now, random));
    CHECK(clock.drift_ppm() == doctest::Approx(-42).epsilon(0.15));
}

TEST_CASE("F-10: when a clock was set the samples from before are forgotten at once") {
    Random random(14);
    World world;
    ClockEstimate clock;
    for (double now = 0; now < 600'000; now += 10'000) clock.add(world.exchange(now, random));
    REQUIRE(clock.samples() == 60);

    world.start_ms += 3'600'000;
    const ClockSample after = world.exchange(600'000, random);
    clock.add(after);
    CHECK(clock.samples() == 1);
    const double now = Ms(after.received.time_since_epoch()).count();
    CHECK(std::abs(world.error_ms(clock, now)) < to_ms(clock.error_bound(after.received)));
}

TEST_CASE("F-10: a late answer is no contradiction, and samples that say nothing are ignored") {
    ClockEstimate clock;
    clock.add({.sent = Time(10s), .received = Time(10s + 2ms), .stamp = 1'000'000ms});
    clock.add({.sent = Time(20s), .received = Time(24s), .stamp = 1'010'000ms});  // the answer was retransmitted
    CHECK(clock.samples() == 2);
    CHECK(clock.server_time(Time(10s + 1ms)) == UnixTime(1'000'000ms + 500us));

    clock.add({.sent = Time(30s), .received = Time(29s), .stamp = 1ms});
    clock.add({.sent = Time(30s), .received = Time(30s + ClockEstimate::round_trip_max + 1ms), .stamp = 1ms});
    CHECK(clock.samples() == 2);
}

TEST_CASE("F-10: a stamp that is no date is ignored, whatever Muster writes into it") {
    ClockEstimate clock;
    for (const auto stamp : {std::chrono::milliseconds::max(), std::chrono::milliseconds::min(), -1ms})
        clock.add({.sent = Time(10s), .received = Time(10s + 2ms), .stamp = stamp});
    CHECK_FALSE(clock.known());
}

TEST_CASE("P-11: four stamps give the offset, and the time that Muster held the answer is no part of the round trip") {
    constexpr UnixTime date(1'700'000'000s);
    ClockEstimate clock;
    // 3 ms there, 500 ms held, 1 ms back: ((t1 − t0) + (t2 − t3)) / 2 is off by half of the difference, 1 ms.
    clock.add(ClockExchange{
        .sent = Time(10s), .server_received = date + 3ms, .server_sent = date + 503ms, .received = Time(10s + 504ms)});
    CHECK(clock.server_time(Time(10s)) == date + 1ms);
    CHECK(clock.round_trip_least() == 4ms);
    const auto bound = clock.error_bound(Time(10s + 252ms));
    CHECK(bound >= 2ms);
    CHECK(bound <= 2ms + 10us);  // microseconds do not add the millisecond that whole milliseconds would
}

TEST_CASE("P-11: exchanges that cannot be are ignored, whatever Muster writes into them") {
    constexpr UnixTime date(1'700'000'000s);
    constexpr UnixTime last = UnixTime::max();
    constexpr UnixTime first = UnixTime::min();
    ClockEstimate clock;
    const auto add = [&](UnixTime received, UnixTime sent, Duration away) {
        clock.add(ClockExchange{
            .sent = Time(10s), .server_received = received, .server_sent = sent, .received = Time(10s + away)});
    };
    add(date, date - 1us, 4ms);  // answered before it was asked
    add(date, date + 5ms, 4ms);  // held for longer than it was away
    add(date, date, -1ms);       // back before it was sent
    add(date, date, 10s + 1us);  // says too little
    add(first, last, 4ms);
    add(last, first, 4ms);
    add(last, last, 4ms);
    add(first, first, 4ms);
    CHECK_FALSE(clock.known());
    add(date, date + 4ms, 4ms);
    add(date, date, 10s);
    CHECK(clock.samples() == 2);
}

TEST_CASE("P-11: with exchanges the estimate is within its bound, however the two ways differ") {
    Random random(21);
    for (const double asymmetry : {-15.0, 0.0, 15.0}) {
        CAPTURE(asymmetry);
        World world;
        world.drift_ppm = 40;
        world.asymmetry_ms = asymmetry;
        ClockEstimate clock;
        for (double now = 0; now < 1'200'000; now += 30'000) {
            const double there = world.delay_ms + asymmetry + world.jitter_ms * random.unit();
            const double held = 30 * random.unit();
            const double back = world.delay_ms - asymmetry + world.jitter_ms * random.unit();
            const auto date_at = [&](double local_ms) {
                return UnixTime(std::chrono::floor<std::chrono::microseconds>(Ms(world.server_ms(local_ms))));
            };
            const double received = now + there + held + back;
            clock.add(ClockExchange{.sent = at_ms(now),
                                    .server_received = date_at(now + there),
                                    .server_sent = date_at(now + there + held),
                                    .received = at_ms(received)});
            CHECK(std::abs(world.error_ms(clock, received)) <= to_ms(clock.error_bound(at_ms(received))));
        }
        CHECK(std::abs(clock.drift_ppm() - 40) < 10);
    }
}

TEST_CASE("F-10: no more samples are kept than the window holds") {
    ClockEstimate clock;
    for (int i = 0; i < 1'000; ++i) {
        const Time sent(i * 1s);
        clock.add({.sent = sent, .received = sent + 4ms, .stamp = milliseconds(1'000 * i)});
    }
    CHECK(clock.samples() == ClockEstimate::samples_max);
    clock.add({.sent = Time(10h), .received = Time(10h + 4ms), .stamp = std::chrono::duration_cast<milliseconds>(10h)});
    CHECK(clock.samples() == 1);
}

}  // namespace muster::sdk
