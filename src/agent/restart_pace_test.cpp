#include "agent/restart_pace.h"

#include <chrono>

#include <doctest/doctest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Time start{1h};

TEST_CASE("G-5: the pause before a restart doubles from one second to sixty") {
    RestartPace pace;
    Time now = start;
    // Far enough apart that they are no crash loop, short enough that no life was good.
    for (const auto expected : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
        now += 100s;
        const auto pause = pace.failed(now, 59'999ms);
        CHECK(pause.length == expected);
        CHECK_FALSE(pause.crash_loop_began);
    }
}

TEST_CASE("G-5: a life of sixty seconds starts the pauses from one second again") {
    RestartPace pace;
    CHECK(pace.failed(start, 1s).length == 1s);
    CHECK(pace.failed(start + 100s, 59'999ms).length == 2s);
    CHECK(pace.failed(start + 200s, 60s).length == 1s);
    CHECK(pace.failed(start + 300s, 1s).length == 2s);
}

TEST_CASE("G-5: five failures within five minutes are a crash loop and the last moment counts") {
    SUBCASE("within") {
        RestartPace pace;
        for (int i = 0; i < 4; ++i) CHECK_FALSE(pace.failed(start + i * 1s, 0s).crash_loop_began);
        const auto fifth = pace.failed(start + 5min - 1ms, 0s);
        CHECK(fifth.crash_loop_began);
        CHECK(fifth.length == 5min);
    }
    SUBCASE("one of them too old") {
        RestartPace pace;
        for (int i = 0; i < 4; ++i) CHECK_FALSE(pace.failed(start + i * 1s, 0s).crash_loop_began);
        CHECK_FALSE(pace.failed(start + 5min, 0s).crash_loop_began);
    }
}

TEST_CASE("fault 94: a crash loop is told once and tried every five minutes until a life is good") {
    RestartPace pace;
    Time now = start;
    int told = 0;
    for (int i = 0; i < 300; ++i) {  // a day of it
        const auto pause = pace.failed(now, 10ms);
        told += pause.crash_loop_began ? 1 : 0;
        if (i >= 4) CHECK(pause.length == 5min);
        now += pause.length + 10ms;
    }
    CHECK(told == 1);
    pace.lived(59'999ms);
    CHECK(pace.in_crash_loop());
    pace.lived(60s);
    CHECK_FALSE(pace.in_crash_loop());
    CHECK(pace.failed(now, 61s).length == 1s);
}

TEST_CASE("G-5: lives just over a minute that all fail are a crash loop too") {
    RestartPace pace;
    Time now = start;
    int failures = 0;
    while (!pace.in_crash_loop() && failures < 10) {
        const auto pause = pace.failed(now, 60s);
        ++failures;
        now += pause.length + 60s;
    }
    CHECK(failures == 5);
}

TEST_CASE("G-5, G-7: a pace that is written down goes on as it was, whatever time the next agent counts from") {
    const Moment then{start + 100s, UnixMs{1'700'000'000'000}};
    RestartPace pace;
    for (int i = 0; i < 4; ++i) (void)pace.failed(then.now - 40s + i * 10s, 0s);
    const PaceRecord record = pace.record(then);
    CHECK(record.failures.size() == 4);
    // Another boot of the monotonic clock, 30 s later by the wall's.
    const Moment later{start + 1s, UnixMs{then.wall.value + 30'000}};
    RestartPace next = RestartPace::of(record, later);
    CHECK_FALSE(next.in_crash_loop());
    CHECK(RestartPace::of(record, later).failed(later.now, 0s).crash_loop_began);
    // The oldest failure is 70 s old by now: 230 s later it is out of the window.
    const RestartPace::Pause pause = next.failed(later.now + 230s, 0s);
    CHECK_FALSE(pause.crash_loop_began);
    CHECK(pause.length == 16s);
    // A crash loop is one still, and is not told again.
    RestartPace loop;
    for (int i = 0; i < 5; ++i) (void)loop.failed(then.now, 0s);
    RestartPace again = RestartPace::of(loop.record(then), {start, UnixMs{then.wall.value + 3'600'000}});
    CHECK(again.in_crash_loop());
    CHECK_FALSE(again.failed(start, 0s).crash_loop_began);
}

TEST_CASE("G-5, G-7: a pace from a record that makes no sense stays within its limits") {
    const Moment at{start, UnixMs{1'700'000'000'000}};
    PaceRecord record{.next = 9h};
    for (std::int64_t i = 0; i < 20; ++i) record.failures.push_back(UnixMs{at.wall.value + (i - 10) * 1'000});
    RestartPace pace = RestartPace::of(record, at);
    CHECK(pace.failed(start, 0s).length == RestartPace::crash_loop_pause);
    CHECK(RestartPace::of({.next = -1s}, at).failed(start, 0s).length == 1s);
    CHECK(RestartPace::of({.next = 9h}, at).failed(start, 0s).length == 60s);
}

}  // namespace
}  // namespace muster
