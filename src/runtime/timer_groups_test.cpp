#include "runtime/timer_groups.h"

#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "runtime/timers_fixture.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct GroupsFixture : TimersFixture {
    TimerId in_group(std::string_view group, Duration delay, std::string what, Duration interval = 0ms) {
        return *timers.schedule({.first_delay = delay, .interval = interval, .group = group}, note(std::move(what)));
    }
};

}  // namespace

TEST_CASE_FIXTURE(GroupsFixture, "T-2: a group is cancelled by its name, and nothing else is") {
    in_group("waves", 1s, "wave 1");
    in_group("waves", 2s, "wave 2");
    in_group("weather", 1s, "rain");
    REQUIRE(timers.schedule({.first_delay = 1s, .group = "waves", .base = TimeBase::real}, note("wave 3")));
    REQUIRE(timers.once(1s, note("alone")));
    CHECK(timers.cancel_group("waves") == 3u);
    CHECK(timers.cancel_group("waves") == 0u);
    CHECK(timers.cancel_group("no such group") == 0u);
    after(5s);
    CHECK(heard == Heard{"rain", "alone"});
}

TEST_CASE_FIXTURE(GroupsFixture, "T-2: a paused timer keeps its remaining time, for as long as the pause takes") {
    const TimerId id = in_group("waves", 1s, "wave");
    after(400ms);
    CHECK(timers.pause_group("waves") == 1u);
    CHECK(timers.pause_group("waves") == 0u);
    CHECK(timers.remaining(id) == 600ms);
    after(24h);
    CHECK(heard.empty());
    CHECK_FALSE(timers.next_wake());
    CHECK(timers.remaining(id) == 600ms);
    CHECK(timers.resume_group("waves") == 1u);
    CHECK(timers.resume_group("waves") == 0u);
    after(599ms);
    CHECK(heard.empty());
    after(1ms);
    CHECK(heard == Heard{"wave"});
}

TEST_CASE_FIXTURE(GroupsFixture,
                  "T-2: what is scheduled into a paused group starts paused, also when the group was empty") {
    CHECK(timers.pause_group("waves") == 0u);
    const TimerId id = in_group("waves", 1s, "wave");
    after(10s);
    CHECK(heard.empty());
    CHECK(timers.remaining(id) == 1s);
    CHECK(timers.reschedule(id, 3s));
    CHECK(timers.remaining(id) == 3s);
    CHECK(timers.resume_group("waves") == 1u);
    after(2'999ms);
    CHECK(heard.empty());
    after(1ms);
    CHECK(heard == Heard{"wave"});
}

TEST_CASE_FIXTURE(GroupsFixture, "T-2: resumed timers with equal time left fire in the order of scheduling") {
    for (const char* what : {"1", "2", "3"}) in_group("waves", 1s, what);
    CHECK(timers.pause_group("waves") == 3u);
    CHECK(timers.resume_group("waves") == 3u);
    after(1s);
    CHECK(heard == Heard{"1", "2", "3"});
}

TEST_CASE_FIXTURE(GroupsFixture, "T-2: cancelling a paused group forgets the pause") {
    in_group("waves", 1s, "old");
    CHECK(timers.pause_group("waves") == 1u);
    CHECK(timers.cancel_group("waves") == 1u);
    in_group("waves", 1s, "new");
    after(1s);
    CHECK(heard == Heard{"new"});
}

TEST_CASE_FIXTURE(GroupsFixture,
                  "T-2: a timer that is due but has not fired can still be paused, and fires once resumed") {
    REQUIRE(timers.once(1s, [&](const TimerFired&) { CHECK(timers.pause_group("waves") == 1u); }));
    in_group("waves", 1s, "wave");
    after(1s);
    CHECK(heard.empty());
    CHECK(timers.resume_group("waves") == 1u);
    after(1ms);
    CHECK(heard == Heard{"wave"});
}

TEST_CASE_FIXTURE(GroupsFixture, "T-5: a callback may cancel the group it is in, and schedule into it again") {
    REQUIRE(timers.schedule({.first_delay = 1s, .interval = 1s, .group = "waves"}, [&](const TimerFired&) {
        heard.emplace_back("fired");
        CHECK(timers.cancel_group("waves") == 2u);
        in_group("waves", 1s, "new");
    }));
    in_group("waves", 1s, "never");
    after(1s);
    after(1s);
    after(1s);
    CHECK(heard == Heard{"fired", "new"});
}

TEST_CASE_FIXTURE(GroupsFixture,
                  "T-5: a callback may pause the group it is in: a repeating timer waits, a one-shot is done") {
    const TimerId every =
        *timers.schedule({.first_delay = 1s, .interval = 2s, .group = "waves"}, [&](const TimerFired&) {
            heard.emplace_back("every");
            CHECK(timers.pause_group("waves") == 1u);
        });
    after(1s);
    CHECK(timers.remaining(every) == 2s);
    after(10s);
    CHECK(heard == Heard{"every"});
    CHECK(timers.resume_group("waves") == 1u);
    CHECK(timers.cancel(every));

    TimerId once = *timers.schedule({.first_delay = 1s, .group = "waves"},
                                    [&](const TimerFired&) { CHECK(timers.pause_group("waves") == 0u); });
    after(1s);
    CHECK_FALSE(timers.contains(once));

    // Under the pause, a one-shot that reschedules itself stays, with that much time left.
    CHECK(timers.resume_group("waves") == 0u);
    once = *timers.schedule({.first_delay = 1s, .group = "waves"}, [&](const TimerFired& fired) {
        static_cast<void>(timers.pause_group("waves"));
        CHECK(timers.reschedule(fired.id, 5s));
    });
    after(1s);
    CHECK(timers.remaining(once) == 5s);
}

TEST_CASE_FIXTURE(GroupsFixture, "T-2: names made up on the fly do not pile up, and names in use or paused stay") {
    in_group("kept", 30s, "kept");
    CHECK(timers.pause_group("paused") == 0u);
    for (int i = 0; i < 100'000; ++i) timers.cancel(in_group("player " + std::to_string(i), 1s, ""));
    CHECK(timers.groups() <= TimerGroups::empty_max + 3);
    CHECK(timers.cancel_group("kept") == 1u);
    const TimerId paused = in_group("paused", 1s, "paused");
    after(5s);
    CHECK(timers.remaining(paused) == 1s);
}

TEST_CASE("T-2: a name swept away and used again is a new group") {
    TimerGroups groups;
    for (std::size_t i = 0; i <= TimerGroups::empty_max; ++i) groups.release(groups.find_or_add(std::to_string(i)));
    CHECK(groups.size() == 0);
    CHECK(groups.find("7") == TimerGroups::none);
    const auto again = groups.find_or_add("7");
    CHECK(groups.find("7") == again);
    CHECK(groups[again].name == "7");
    CHECK(groups[again].size == 0);
    CHECK_FALSE(groups[again].paused);
}
