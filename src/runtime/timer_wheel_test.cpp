#include "runtime/timer_wheel.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "base/random.h"
#include "base/time.h"
#include "runtime/allocation_counter.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

constexpr Time start{1h};

// How many of the million are moved: all in a release build, some in the slower ones.
#ifdef NDEBUG
constexpr std::size_t churn_step = 1;
#else
constexpr std::size_t churn_step = 10;
#endif

struct WheelFixture {
    TimerWheel wheel{start};

    // The payloads that are due at `now`, in order. The timers are idle afterwards.
    std::vector<std::uint64_t> due_at(Time now) {
        wheel.advance(now);
        std::vector<std::uint64_t> payloads;
        TimerWheel::Due due;
        while (wheel.pop_due(due)) payloads.push_back(due.payload);
        return payloads;
    }
};

using Payloads = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE_FIXTURE(WheelFixture,
                  "T-1: a timer is due at its deadline, and not 1 ms before, at every level of the wheel") {
    for (const Duration delay : {Duration(1ms), Duration(255ms), Duration(256ms), Duration(257ms), Duration(65'535ms),
                                 Duration(65'536ms), Duration(65'537ms), Duration(24h), Duration(30 * 24h)}) {
        CAPTURE(delay.count());
        TimerWheel own(start);
        own.schedule(start + delay, 7);
        own.advance(start + delay - 1ms);
        CHECK_FALSE(own.has_due());
        own.advance(start + delay);
        TimerWheel::Due due;
        REQUIRE(own.pop_due(due));
        CHECK(due.payload == 7);
        CHECK(due.deadline == start + delay);
        CHECK_FALSE(own.pop_due(due));
    }
}

TEST_CASE_FIXTURE(WheelFixture, "T-3: a deadline inside a tick is due at the tick's end, never early") {
    wheel.schedule(start + 10ms + 1ns, 1);
    wheel.schedule(start + 10ms, 0);
    CHECK(due_at(start + 10ms + 999'999ns) == Payloads{0});
    CHECK(due_at(start + 11ms) == Payloads{1});
}

TEST_CASE_FIXTURE(WheelFixture,
                  "T-3: equal deadlines are due in the order of arming, whatever level each was armed at") {
    const Time deadline = start + 70s;
    wheel.schedule(deadline, 0);
    wheel.advance(start + 60s);
    wheel.schedule(deadline, 1);
    wheel.advance(start + 69'900ms);
    wheel.schedule(deadline, 2);
    const TimerId moved = wheel.schedule(deadline, 3);
    wheel.schedule(deadline, 4);
    CHECK(wheel.reschedule(moved, deadline));
    CHECK(due_at(deadline) == Payloads{0, 1, 2, 4, 3});
}

TEST_CASE_FIXTURE(WheelFixture, "T-3: an hour's gap in one call gives everything in order of deadline") {
    Random random(7);
    std::vector<std::int64_t> delays;
    for (int i = 0; i < 10'000; ++i) {
        const std::int64_t delay = random.between(1, 3'600'000);
        wheel.schedule(start + std::chrono::milliseconds(delay), static_cast<std::uint64_t>(delay));
    }
    const Payloads due = due_at(start + 1h);
    CHECK(due.size() == 10'000);
    CHECK(std::is_sorted(due.begin(), due.end()));
    CHECK_FALSE(wheel.next_wake());
}

TEST_CASE_FIXTURE(WheelFixture, "T-3: what is left due stays ahead of what becomes due later") {
    wheel.schedule(start + 1ms, 1);
    wheel.schedule(start + 2ms, 2);
    wheel.schedule(start + 3ms, 3);
    wheel.advance(start + 2ms);
    TimerWheel::Due due;
    CHECK(wheel.pop_due(due));
    CHECK(due.payload == 1);
    CHECK(wheel.next_wake() == start + 2ms);
    CHECK(due_at(start + 5ms) == Payloads{2, 3});
}

TEST_CASE_FIXTURE(
    WheelFixture,
    "L-4: a timer armed while due ones are taken waits for the next advance, however early its deadline") {
    wheel.schedule(start + 1ms, 1);
    wheel.advance(start + 1ms);
    TimerWheel::Due due;
    REQUIRE(wheel.pop_due(due));
    wheel.schedule(start, 2);
    wheel.schedule(start + 1ms, 3);
    CHECK(wheel.reschedule(due.id, start + 1ms));
    CHECK_FALSE(wheel.pop_due(due));
    CHECK(wheel.next_wake() == start + 1ms);
    CHECK(due_at(start + 1ms) == Payloads{2, 3, 1});
}

TEST_CASE_FIXTURE(WheelFixture, "T-6: an id names one timer only, also when its slot is used again") {
    const TimerId first = wheel.schedule(start + 1s, 1);
    CHECK(first.generation != 0);
    CHECK(wheel.contains(first));
    CHECK_FALSE(wheel.contains(TimerId{}));
    CHECK_FALSE(wheel.contains(TimerId{first.index, 0}));
    CHECK_FALSE(wheel.contains(TimerId{first.index + 1, first.generation}));
    CHECK(wheel.cancel(first));
    CHECK_FALSE(wheel.contains(first));
    CHECK_FALSE(wheel.contains(TimerId{first.index, first.generation + 1}));

    const TimerId second = wheel.schedule(start + 1s, 2);
    CHECK(second.index == first.index);
    CHECK(second != first);
    CHECK_FALSE(wheel.cancel(first));
    CHECK_FALSE(wheel.reschedule(first, start));
    CHECK_FALSE(wheel.disarm(first));
    CHECK(due_at(start + 1s) == Payloads{2});
}

TEST_CASE_FIXTURE(WheelFixture, "T-2: a cancelled or disarmed timer is not due, even when it was due already") {
    const TimerId cancelled = wheel.schedule(start + 1ms, 1);
    const TimerId disarmed = wheel.schedule(start + 1ms, 2);
    const TimerId moved = wheel.schedule(start + 1ms, 3);
    wheel.advance(start + 1ms);
    CHECK(wheel.cancel(cancelled));
    CHECK(wheel.disarm(disarmed));
    CHECK(wheel.reschedule(moved, start + 2ms));
    CHECK_FALSE(wheel.has_due());

    CHECK(wheel.size() == 2);
    CHECK(wheel.contains(disarmed));
    CHECK_FALSE(wheel.armed(disarmed));
    CHECK(wheel.payload(disarmed) == 2);
    CHECK(wheel.armed(moved));
    CHECK(due_at(start + 2ms) == Payloads{3});
    CHECK(wheel.reschedule(disarmed, start + 3ms));
    CHECK(due_at(start + 3ms) == Payloads{2});
}

TEST_CASE_FIXTURE(WheelFixture,
                  "T-4: a timer that was due keeps its id and payload until it is armed again or cancelled") {
    const TimerId id = wheel.schedule(start + 1ms, 9);
    for (int round = 1; round <= 3; ++round) {
        wheel.advance(start + round * 1ms);
        TimerWheel::Due due;
        REQUIRE(wheel.pop_due(due));
        CHECK(due.id == id);
        CHECK(due.payload == 9);
        CHECK_FALSE(wheel.armed(id));
        CHECK(wheel.reschedule(id, start + (round + 1) * 1ms));
    }
    CHECK(wheel.cancel(id));
    CHECK(wheel.size() == 0);
}

TEST_CASE_FIXTURE(WheelFixture,
                  "L-3: the next wake-up is never after the next deadline, and a single timer needs few of them") {
    const Time deadline = start + 29 * 24h + 12'345ms;
    wheel.schedule(deadline, 1);
    int wakes = 0;
    while (!wheel.has_due()) {
        const std::optional<Time> wake = wheel.next_wake();
        REQUIRE(wake);
        CHECK(*wake <= deadline);
        wheel.advance(*wake);
        ++wakes;
    }
    CHECK(wakes <= 4);
    CHECK(due_at(deadline) == Payloads{1});
    CHECK_FALSE(wheel.next_wake());
}

TEST_CASE_FIXTURE(WheelFixture, "T-1: the wheel tells a timer's deadline, ahead of it and behind") {
    const TimerId id = wheel.schedule(start + 30 * 24h - 1us, 1);
    CHECK(wheel.deadline(id) == start + 30 * 24h);
    wheel.advance(start + 30 * 24h + 5s);
    CHECK(wheel.deadline(id) == start + 30 * 24h);
    CHECK(wheel.first_due()->deadline == start + 30 * 24h);
}

TEST_CASE_FIXTURE(WheelFixture, "T-3: time that stands still or goes back changes nothing") {
    wheel.schedule(start + 5ms, 1);
    CHECK(due_at(start + 4ms).empty());
    CHECK(due_at(start).empty());
    CHECK(due_at(start + 4ms).empty());
    CHECK(due_at(start + 5ms) == Payloads{1});
}

TEST_CASE("T-1: a wheel that starts before time zero works like any other") {
    TimerWheel wheel(Time(-1h));
    wheel.schedule(Time(-1ns), 1);
    wheel.schedule(Time(500ms), 2);
    wheel.advance(Time(-1ms));
    CHECK_FALSE(wheel.has_due());
    wheel.advance(Time(0ms));
    CHECK(wheel.first_due()->payload == 1);
}

TEST_CASE("T-1: a million timers outstanding, 24 bytes each, and warm use takes no memory") {
    constexpr std::size_t outstanding = 1'000'000;
    CHECK(TimerWheel::bytes_per_timer() == 24);
    TimerWheel wheel(start);
    wheel.reserve(outstanding + 1);
    Random random(1);
    const auto deadline = [&random] { return start + std::chrono::milliseconds(random.between(1, 3'600'000)); };

    const std::uint64_t before = allocations();
    std::vector<TimerId> ids;
    ids.reserve(outstanding);
    for (std::size_t i = 0; i < outstanding; ++i) ids.push_back(wheel.schedule(deadline(), i));
    for (std::size_t i = 0; i < outstanding; i += churn_step) {
        const std::size_t victim = random.below(outstanding);
        wheel.cancel(ids[victim]);
        ids[victim] = wheel.schedule(deadline(), victim);
        wheel.reschedule(ids[i], deadline());
    }
    CHECK(wheel.size() == outstanding);

    std::size_t due = 0;
    Time last = start;
    for (Time now = start; now < start + 1h; now += 60s) {
        wheel.advance(now + 60s);
        for (TimerWheel::Due popped; wheel.pop_due(popped); ++due) {
            if (popped.deadline < last) FAIL("out of order");
            last = popped.deadline;
            wheel.cancel(popped.id);
        }
    }
    CHECK(allocations() - before == 1);  // the ids
    CHECK(due == outstanding);
    CHECK(wheel.size() == 0);
}
