#include "runtime/timers.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/allocation_counter.h"
#include "runtime/timers_fixture.h"

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(TimersFixture, "O-4: a timer of 100 ms fires when 150 ms have passed") {
    bool fired = false;
    REQUIRE(timers.once(100ms, [&](const TimerFired&) { fired = true; }));
    after(99ms);
    CHECK_FALSE(fired);
    after(51ms);
    CHECK(fired);
}

TEST_CASE_FIXTURE(TimersFixture, "T-2: a one-shot fires once and is gone, a repeating timer goes on") {
    const TimerId once = *timers.once(10ms, note("once"));
    const TimerId every = *timers.every(10ms, note("every"));
    for (int i = 0; i < 3; ++i) after(10ms);
    CHECK(heard == Heard{"once", "every", "every", "every"});
    CHECK_FALSE(timers.contains(once));
    CHECK(timers.contains(every));
    CHECK(timers.size() == 1);
    CHECK(timers.fired() == 4);
}

TEST_CASE_FIXTURE(TimersFixture, "T-2: a first delay other than the interval") {
    REQUIRE(timers.schedule({.first_delay = 1ms, .interval = 10ms}, note("x")));
    after(1ms);
    CHECK(heard.size() == 1);
    after(9ms);
    CHECK(heard.size() == 1);
    after(1ms);
    CHECK(heard.size() == 2);
}

TEST_CASE_FIXTURE(TimersFixture,
                  "T-1, T-2: what cannot be scheduled is refused with a clear text, and nothing changes") {
    const auto refused = [&](const Result<TimerId, TimerError>& result) {
        CHECK_FALSE(result);
        return std::string(to_string(result.error()));
    };
    constexpr Duration month = 30 * 24h;
    CHECK(refused(timers.once(0ms, note(""))) == "A timer's delay must be at least 1 ms");
    CHECK(refused(timers.once(-5s, note(""))) == "A timer's delay must be at least 1 ms");
    CHECK(refused(timers.once(999'999ns, note(""))) == "A timer's delay must be at least 1 ms");
    CHECK(refused(timers.once(month + 1ns, note(""))) == "A timer's delay must be at most 30 days");
    CHECK(refused(timers.every(0ms, note(""))) == "A repeating timer's interval must be at least 1 ms");
    CHECK(refused(timers.every(-1ms, note(""))) == "A repeating timer's interval must be at least 1 ms");
    CHECK(refused(timers.every(month + 1ns, note(""))) == "A repeating timer's interval must be at most 30 days");
    CHECK(refused(timers.schedule({.first_delay = 1s, .interval = -1s}, note(""))) ==
          "A repeating timer's interval must be at least 1 ms");
    CHECK(refused(timers.schedule({.first_delay = 1s, .group = ""}, note(""))) ==
          "A timer group's name must not be empty");
    CHECK(refused(timers.once(1s, {})) == "A timer's callback must not be empty");
    CHECK(timers.cancel_group("").error() == TimerError::empty_group_name);
    CHECK(timers.pause_group("").error() == TimerError::empty_group_name);
    CHECK(timers.resume_group("").error() == TimerError::empty_group_name);
    CHECK(timers.size() == 0);
    CHECK(timers.groups() == 0);

    const TimerId id = *timers.once(1ms, note("shortest"));
    REQUIRE(timers.once(month, note("longest")));
    CHECK(timers.reschedule(id, 0ms).error() == TimerError::delay_too_short);
    CHECK(timers.reschedule(id, month + 1ms).error() == TimerError::delay_too_long);
    CHECK(timers.remaining(id) == 1ms);
    after(1ms);
    CHECK(timers.reschedule(id, 1s).error() == TimerError::unknown_timer);
    after(month);
    CHECK(heard == Heard{"shortest", "longest"});
}

TEST_CASE_FIXTURE(TimersFixture, "T-1: a delay of our own is brought within the bounds instead of being refused") {
    constexpr Duration month = Timers::delay_most;
    const TimerId shortest = timers.start({.first_delay = -1h}, note("shortest"));
    CHECK(timers.remaining(shortest) == Timers::delay_least);
    const TimerId longest =
        timers.start({.first_delay = Duration::max(), .interval = Duration::max()}, note("longest"));
    CHECK(timers.remaining(longest) == month);
    timers.restart(shortest, Duration::min());
    timers.restart(longest, Duration::max());
    after(1ms);
    CHECK(heard == Heard{"shortest"});
    after(month - 1ms);
    CHECK(heard == Heard{"shortest", "longest"});
    CHECK(timers.remaining(longest) == month);
}

TEST_CASE_FIXTURE(
    TimersFixture,
    "T-2: a callback of any kind fires once and is destroyed once, fired or cancelled, on both time bases") {
    const auto owned = std::make_shared<int>(0);
    const std::array<std::uint64_t, 8> large{1, 2, 3};
    for (const TimeBase base : {TimeBase::running, TimeBase::real}) {
        for (const bool cancelled : {false, true}) {
            const TimerSpec spec{.first_delay = 1ms, .base = base};
            std::vector<TimerId> ids;
            heard.clear();
            ids.push_back(timers.start(spec, [this](const TimerFired&) { heard.emplace_back("bytes"); }));
            ids.push_back(timers.start(spec, [this, owned](const TimerFired&) { heard.emplace_back("owner"); }));
            ids.push_back(timers.start(spec, [this, owned, large](const TimerFired&) {
                static_cast<void>(large);
                heard.emplace_back("on the heap");
            }));
            const std::function<void(const TimerFired&)> function = [this, owned](const TimerFired&) {
                heard.emplace_back("copied");
            };
            ids.push_back(timers.start(spec, function));
            ids.push_back(timers.start(spec, note("moved")));
            CHECK(owned.use_count() == 5);
            if (cancelled) {
                for (const TimerId id : ids) CHECK(timers.cancel(id));
                CHECK(owned.use_count() == 2);  // the test's function
            }
            after(1ms);
            CHECK(heard == (cancelled ? Heard{} : Heard{"bytes", "owner", "on the heap", "copied", "moved"}));
            CHECK(owned.use_count() == 2);
            CHECK(timers.size() == 0);
        }
    }
}

TEST_CASE_FIXTURE(TimersFixture, "T-1: a timer that is moved keeps its new deadline to the nanosecond") {
    for (const TimeBase base : {TimeBase::running, TimeBase::real}) {
        for (const bool grouped : {false, true}) {
            const auto group = grouped ? std::optional<std::string_view>("g") : std::nullopt;
            const TimerId id = timers.start({.first_delay = 5ms + 1ns, .group = group, .base = base}, note("x"));
            CHECK(timers.remaining(id) == 5ms + 1ns);
            for (const Duration delay : {Duration(7ms - 1ns), Duration(7ms), Duration(7ms + 999'999ns)}) {
                CHECK(timers.reschedule(id, delay));
                CHECK(timers.remaining(id) == delay);
            }
            CHECK(timers.cancel(id));
        }
    }
}

TEST_CASE_FIXTURE(TimersFixture, "L-2: a callback is handed the pass it fires in") {
    time.stand_still(5s);
    Pass seen;
    timers.start({.first_delay = 1ms}, [&](const TimerFired& fired) { seen = fired.pass; });
    after(1ms);
    CHECK(seen.now == clock.now());
    CHECK(seen.running == clock.now() - 5s);
    CHECK(seen.number == 1);
}

TEST_CASE_FIXTURE(TimersFixture, "T-3: a timer never fires early, wherever in a tick it was scheduled") {
    for (const Duration offset : {0ns, 1ns, 500'000ns, 999'999ns}) {
        CAPTURE(offset.count());
        after(offset);
        const Time asked = clock.now();
        std::optional<Time> fired;
        REQUIRE(timers.once(2ms, [&](const TimerFired& f) { fired = f.pass.now; }));
        while (!fired) after(100us);
        CHECK(*fired - asked >= 2ms);
        CHECK(*fired - asked < 3ms + 100us);
    }
}

TEST_CASE_FIXTURE(TimersFixture,
                  "T-3: timers due in one pass fire in order of deadline across both time bases, ties as scheduled") {
    REQUIRE(timers.once(30ms, note("30 running")));
    REQUIRE(timers.schedule({.first_delay = 10ms, .base = TimeBase::real}, note("10 real")));
    REQUIRE(timers.schedule({.first_delay = 20ms, .base = TimeBase::real}, note("20 real, first")));
    REQUIRE(timers.once(20ms, note("20 running, second")));
    REQUIRE(timers.schedule({.first_delay = 20ms, .base = TimeBase::real}, note("20 real, third")));
    const TimerId moved = *timers.once(1ms, note("20 running, moved there last"));
    CHECK(timers.reschedule(moved, 20ms));
    after(1s);
    CHECK(heard == Heard{"10 real", "20 real, first", "20 running, second", "20 real, third",
                         "20 running, moved there last", "30 running"});
}

TEST_CASE_FIXTURE(TimersFixture, "T-4: a repeating timer keeps its phase, however late its passes are") {
    std::vector<Duration> at;
    std::uint64_t missed = 0;
    const Time start = clock.now();
    REQUIRE(timers.every(10ms, [&](const TimerFired& fired) {
        at.push_back(fired.deadline - start);
        missed += fired.missed;
    }));
    for (int i = 0; i < 6; ++i) after(13ms);
    CHECK(at == std::vector<Duration>{10ms, 20ms, 30ms, 40ms, 60ms, 70ms});
    CHECK(missed == 1);
}

TEST_CASE_FIXTURE(TimersFixture, "T-4: an interval that is no whole number of milliseconds does not drift") {
    std::uint64_t count = 0;
    REQUIRE(timers.every(16'666'667ns, [&](const TimerFired& fired) { count += 1 + fired.missed; }));
    for (int i = 0; i < 60'000; ++i) after(1ms);
    CHECK(count == 3'599);  // 3,600 intervals end 20 µs after the minute
    after(1ms);
    CHECK(count == 3'600);
}

TEST_CASE_FIXTURE(TimersFixture, "T-4: after a long gap a repeating timer fires once and says how many it missed") {
    std::vector<std::uint64_t> missed;
    const Time start = clock.now();
    REQUIRE(timers.every(100ms, [&](const TimerFired& fired) { missed.push_back(fired.missed); }));
    after(100ms);
    after(3'650ms);
    CHECK(missed == std::vector<std::uint64_t>{0, 35});
    // In phase: the next is at 3,800 ms.
    CHECK(timers.next_wake() <= start + 3'800ms);
    after(49ms);
    CHECK(missed.size() == 2);
    after(1ms);
    CHECK(missed == std::vector<std::uint64_t>{0, 35, 0});
}

TEST_CASE_FIXTURE(TimersFixture, "T-5: a callback may cancel its own timer, one-shot or repeating") {
    for (const Duration interval : {0ms, 1ms}) {
        auto captured = std::make_shared<int>(0);
        const std::weak_ptr<int> whole = captured;
        const TimerSpec spec{.first_delay = 1ms, .interval = interval};
        const TimerId own = *timers.schedule(spec, [&, captured = std::move(captured)](const TimerFired& fired) {
            CHECK(timers.cancel(fired.id));
            CHECK_FALSE(timers.cancel(fired.id));
            CHECK_FALSE(whole.expired());  // what runs stays whole until it returns
            heard.emplace_back("fired");
        });
        after(1ms);
        CHECK(whole.expired());
        CHECK_FALSE(timers.contains(own));
    }
    after(10ms);
    CHECK(heard.size() == 2);
}

TEST_CASE_FIXTURE(TimersFixture,
                  "T-5: a timer cancelled inside a callback never fires, also when it was due in the same pass") {
    TimerId second;
    REQUIRE(timers.once(1ms, [&](const TimerFired&) { CHECK(timers.cancel(second)); }));
    second = *timers.once(1ms, note("second"));
    REQUIRE(timers.once(1ms, note("third")));
    after(1ms);
    CHECK(heard == Heard{"third"});
}

TEST_CASE_FIXTURE(TimersFixture, "T-5: a one-shot that reschedules itself fires again under the same id") {
    int rounds = 0;
    const TimerId id = *timers.once(5ms, [&](const TimerFired& fired) {
        if (++rounds < 3) CHECK(timers.reschedule(fired.id, 7ms));
    });
    after(5ms);
    CHECK(timers.remaining(id) == 7ms);
    after(7ms);
    after(7ms);
    CHECK(rounds == 3);
    CHECK_FALSE(timers.contains(id));
}

TEST_CASE_FIXTURE(
    TimersFixture,
    "T-5, L-4: what a callback schedules does not fire in the same pass, and thousands may be scheduled") {
    REQUIRE(timers.once(1ms, [&](const TimerFired&) {
        // The records grow and move while this callback runs.
        for (int i = 0; i < 5'000; ++i) REQUIRE(timers.once(1ms, note("new")));
        heard.emplace_back("old");
    }));
    after(10ms);
    CHECK(heard == Heard{"old"});
    after(1ms);
    CHECK(heard.size() == 5'001);
}

TEST_CASE_FIXTURE(TimersFixture, "T-5: a cancelled callback's captures may use the timers while they are destroyed") {
    struct Cancels {
        Timers* timers;
        TimerId other;
        ~Cancels() { timers->cancel(other); }
    };
    const TimerId other = *timers.schedule({.first_delay = 1s, .group = "g"}, note("other"));
    auto owner = std::make_shared<Cancels>(&timers, other);
    REQUIRE(timers.schedule({.first_delay = 1s, .group = "g"}, [owner](const TimerFired&) {}));
    owner.reset();
    CHECK(timers.cancel_group("g") == 2u);
    CHECK(timers.size() == 0);
    after(2s);
    CHECK(heard.empty());
}

TEST_CASE_FIXTURE(
    TimersFixture,
    "X-5, fault 13: a callback that throws is logged and counted, and a repeating timer keeps repeating") {
    const TimerId id =
        *timers.schedule({.first_delay = 1ms, .interval = 1ms, .group = "spawns"}, [&](const TimerFired&) {
            heard.emplace_back("thrown");
            throw std::runtime_error("no room");
        });
    const TimerId once = *timers.once(1ms, [](const TimerFired&) { throw 42; });  // NOLINT: anything may be thrown
    REQUIRE(timers.once(1ms, note("next")));
    after(1ms);
    CHECK(heard == Heard{"thrown", "next"});
    CHECK_FALSE(timers.contains(once));
    after(1ms);
    CHECK(heard == Heard{"thrown", "next", "thrown"});
    CHECK(timers.failures() == 3);
    REQUIRE(kept.lines.size() == 3);
    CHECK(kept.lines[0] ==
          fmt::format("Timer {}.{} callback failed group=spawns error=\"no room\"", id.index, id.generation));
    CHECK(kept.lines[1] ==
          fmt::format("Timer {}.{} callback failed error=\"unknown exception\"", once.index, once.generation));
}

TEST_CASE_FIXTURE(TimersFixture, "T-6: ids are small, and the id of a timer that is gone names no other") {
    CHECK(sizeof(TimerId) == 8);
    std::vector<TimerId> gone;
    for (int i = 0; i < 100; ++i) {
        const TimerId id = *timers.once(1s, note("x"));
        CHECK(timers.cancel(id));
        gone.push_back(id);
    }
    REQUIRE(timers.once(1s, note("x")));
    REQUIRE(timers.schedule({.first_delay = 1s, .base = TimeBase::real}, note("x")));
    for (const TimerId id : gone) {
        CHECK_FALSE(timers.contains(id));
        CHECK_FALSE(timers.cancel(id));
        CHECK_FALSE(timers.remaining(id));
    }
    CHECK_FALSE(timers.cancel(TimerId{}));
}

TEST_CASE_FIXTURE(TimersFixture,
                  "L-4: a pass fires no more than its budget, and the rest comes first in the next pass, in order") {
    for (int i = 0; i < 10; ++i) {
        const TimeBase base = i % 2 == 0 ? TimeBase::running : TimeBase::real;
        REQUIRE(timers.schedule({.first_delay = 1ms + i * 1ms, .base = base}, note(std::to_string(i))));
    }
    clock.advance(5ms);
    CHECK(pass(3) == 3);
    CHECK(timers.has_due());
    CHECK(timers.next_wake() <= clock.now());
    clock.advance(100ms);
    CHECK(pass(100) == 7);
    CHECK(heard == Heard{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
}

TEST_CASE_FIXTURE(TimersFixture, "L-8: a gap moves timers on running time, and leaves those on real time") {
    REQUIRE(timers.once(10s, note("running")));
    REQUIRE(timers.schedule({.first_delay = 10s, .base = TimeBase::real}, note("real")));
    after(4s);
    clock.advance(60s);
    time.stand_still(60s);
    pass();
    CHECK(heard == Heard{"real"});
    CHECK(timers.next_wake() <= clock.now() + 6s);
    after(5'999ms);
    CHECK(heard.size() == 1);
    after(1ms);
    CHECK(heard == Heard{"real", "running"});
}

TEST_CASE_FIXTURE(TimersFixture,
                  "T-1: scheduling, cancelling and rescheduling take no memory once warm, groups included") {
    constexpr int many = 1'000;
    const auto round = [&] {
        std::vector<TimerId> ids;
        ids.reserve(many);
        for (int i = 0; i < many; ++i) {
            const TimerSpec spec{
                .first_delay = 1s,
                .group = i % 3 == 0 ? std::optional<std::string_view>("a group with a long name") : std::nullopt,
                .base = i % 2 == 0 ? TimeBase::running : TimeBase::real};
            ids.push_back(*timers.schedule(spec, [](const TimerFired&) {}));
        }
        for (const TimerId id : ids) static_cast<void>(timers.reschedule(id, 2s));
        for (const TimerId id : ids) timers.cancel(id);
    };
    round();
    const std::uint64_t before = allocations();
    for (int i = 0; i < 10; ++i) round();
    CHECK(allocations() - before == 10);  // the test's own ids
    CHECK(Timers::bytes_per_timer() == 64);
}

TEST_CASE_FIXTURE(TimersFixture,
                  "L-2: between passes a delay counts from what the clock says, inside a pass from the pass") {
    clock.advance(5s);
    REQUIRE(timers.once(1s, note("between")));
    pass();
    CHECK(heard.empty());
    after(999ms);
    CHECK(heard.empty());
    REQUIRE(timers.once(1ms, [&](const TimerFired& fired) {
        clock.advance(300ms);  // a slow callback
        const TimerId id = *timers.once(1s, note("inside"));
        CHECK(timers.remaining(id) == 1s);
        CHECK(fired.pass.now + 1s == clock.now() - 300ms + 1s);
    }));
    after(1ms);
    CHECK(heard == Heard{"between"});
    after(700ms);
    CHECK(heard == Heard{"between", "inside"});
}
