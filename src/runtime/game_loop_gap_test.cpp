// A process that was stopped does not take its own silence for its peers' death (L-8, fault 11).
#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/loop_fixture.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct GapFixture : LoopFixture {
    explicit GapFixture(const LoopConfig& config = {}) : LoopFixture(config) {
        loop.on_gap([this](Duration gap) {
            heard.emplace_back("gap");
            gaps.push_back(gap);
        });
        servers.when_catching_up = [this] { heard.emplace_back("catch up"); };
        loop.on_update([this](const Pass&) {
            if (at_update) at_update();
            return std::size_t{0};
        });
        loop.on_flush([this](const Pass&) {
            if (at_flush) at_flush();
        });
        servers.post("first", [](const Pass&) {});
        loop.turn();
    }

    // Also where the loop spins: it would turn more often, and find nothing to do.
    void turn_each_ms_until(Time end) {
        while (clock.now() < end) {
            clock.advance(std::min<Duration>(end - clock.now(), 1ms));
            loop.turn();
        }
    }

    std::vector<std::string> heard;
    std::vector<Duration> gaps;
    std::function<void()> at_update;
    std::function<void()> at_flush;
};

using Heard = std::vector<std::string>;

struct Happening {
    static constexpr std::string_view name = "happening";
    void describe(FieldSink&) const {}
};

}  // namespace

TEST_CASE_FIXTURE(GapFixture,
                  "L-8, fault 11: a stop of 300 s moves deadlines on running time by the gap, and no other") {
    const Time start = clock.now();
    REQUIRE(loop.timers().once(30s, [&](const TimerFired&) { heard.emplace_back("silence"); }));
    REQUIRE(loop.timers().schedule({.first_delay = 30s, .base = TimeBase::real},
                                   [&](const TimerFired&) { heard.emplace_back("token"); }));
    run_until(start + 10s);
    const Time planned = *loop.next_wake();
    clock.advance_to(planned + 300s);  // SIGSTOP in the wait
    loop.turn();
    CHECK(heard == Heard{"catch up", "gap", "token"});
    CHECK(gaps == std::vector<Duration>{300s});
    CHECK(loop.time().running() == clock.now() - 300s);

    run_until(start + 300s + 30s - 1ms);
    CHECK(heard.size() == 3);
    run_until(start + 300s + 30s);
    CHECK(heard.back() == "silence");

    const LoopFigures shot = loop.figures();
    CHECK(shot.gaps == 1);
    CHECK(shot.gap_seconds == doctest::Approx(300));
    CHECK(kept.lines == Heard{"The process was stopped; silence deadlines do not count the gap gap_ms=300000"});
}

TEST_CASE_FIXTURE(
    GapFixture, "L-8: lateness over 100 ms lets sources catch up before anything is judged, and is no gap up to 1 s") {
    REQUIRE(loop.timers().every(200ms, [&](const TimerFired&) { heard.emplace_back("timer"); }));
    loop.turn();
    const auto wake_late_by = [&](Duration late) {
        heard.clear();
        clock.advance_to(*loop.next_wake() + late);
        loop.turn();
    };
    wake_late_by(100ms);
    CHECK(heard.size() <= 1);
    CHECK((heard.empty() || heard[0] == "timer"));

    servers.when_catching_up = [&] {
        heard.emplace_back("catch up");
        servers.post("from the socket", [&](const Pass&) { heard.emplace_back("message"); });
    };
    wake_late_by(100ms + 1ns);
    REQUIRE(heard.size() >= 2);
    CHECK(heard[0] == "catch up");
    CHECK(heard[1] == "message");

    wake_late_by(1s);
    CHECK(gaps.empty());
    CHECK(loop.time().stood_still() == 0ms);
    wake_late_by(1s + 1ns);
    CHECK(gaps == std::vector<Duration>{1s});
}

TEST_CASE_FIXTURE(GapFixture,
                  "L-8: a gap counts in whole milliseconds, so that running timers keep their place in the tick") {
    REQUIRE(loop.timers().once(500ms, [](const TimerFired&) {}));
    loop.turn();
    clock.advance_to(*loop.next_wake() + 5s + 999'999ns);
    loop.turn();
    CHECK(gaps == std::vector<Duration>{5s});
    CHECK(loop.time().stood_still() == 5s);
}

TEST_CASE("L-8, fault 11: wherever in a pass the process is stopped, deadlines move as by a stop in the wait") {
    // Each makes the next pass stand still at its spot, once.
    using Stop = std::function<void()>;
    struct Spot {
        const char* name;
        std::function<void(GapFixture&, const Stop&)> prepare;
    };
    const std::vector<Spot> spots{
        {"refill", [](GapFixture& in, const Stop& stop) { in.servers.when_refilling = stop; }},
        {"message",
         [](GapFixture& in, const Stop& stop) { in.servers.post("m", [stop = stop](const Pass&) { stop(); }); }},
        {"timer", [](GapFixture& in,
                     const Stop& stop) { in.loop.timers().start({}, [stop = stop](const TimerFired&) { stop(); }); }},
        {"event",
         [](GapFixture& in, const Stop& stop) {
             in.loop.events().subscribe<Happening>([stop = stop](const Happening&) { stop(); });
             in.loop.events().publish(Happening{});
         }},
        {"update", [](GapFixture& in, const Stop& stop) { in.at_update = stop; }},
        {"flush", [](GapFixture& in, const Stop& stop) { in.at_flush = stop; }},
    };
    for (const bool idle : {true, false}) {
        for (const Spot& spot : spots) {
            CAPTURE(spot.name);
            CAPTURE(idle);
            GapFixture in({.idle_cpu_enabled = idle});
            const Time start = in.clock.now();
            in.loop.timers().start({.first_delay = 30s}, [&](const TimerFired&) { in.heard.emplace_back("silence"); });
            in.loop.timers().start({.first_delay = 30s, .base = TimeBase::real},
                                   [&](const TimerFired&) { in.heard.emplace_back("token"); });
            in.turn_each_ms_until(start + 500ms);
            bool stopped = false;
            spot.prepare(in, [&] {
                if (!std::exchange(stopped, true)) in.clock.stand_still(300s);
            });
            in.clock.advance(1ms);
            in.loop.turn();
            CHECK(stopped);
            CHECK(in.heard.empty());
            in.loop.turn();
            CHECK(in.heard == Heard{"catch up", "gap", "token"});
            CHECK(in.gaps == std::vector<Duration>{300s});
            CHECK(in.loop.time().stood_still() == 300s);
            CHECK(in.loop.figures().gaps == 1);
            CHECK(in.loop.figures().overruns == 0);

            in.turn_each_ms_until(start + 330s - 1ms);
            CHECK(in.heard.back() == "token");
            in.turn_each_ms_until(start + 330s);
            CHECK(in.heard.back() == "silence");
        }
    }
}

TEST_CASE_FIXTURE(GapFixture, "L-8, K-2: what is said after a stop is not judged by the time before it") {
    bool stopped = false;
    Time judged;
    servers.when_refilling = [&] {
        if (std::exchange(stopped, true)) return;
        clock.stand_still(60s);
        servers.post("after the stop", [&](const Pass& pass) { judged = pass.now; });
    };
    bool fired = false;
    loop.timers().start({.first_delay = 1ms}, [&](const TimerFired&) { fired = true; });
    clock.advance(1ms);
    CHECK(loop.turn().left);
    CHECK(judged == Time{});
    CHECK_FALSE(fired);  // a deadline is not judged before what was said in time is heard
    loop.turn();
    CHECK(judged == clock.now());
    CHECK(fired);
}

TEST_CASE_FIXTURE(GapFixture, "L-8: stops in a row, in the wait, while catching up and in the pass, all count") {
    bool fired = false;
    const Time start = clock.now();
    loop.timers().start({.first_delay = 10s}, [&](const TimerFired&) { fired = true; });
    run_until(start + 10s - 1ms);
    clock.stand_still(1ms + 10s);  // in the wait: 1 ms of it was planned
    int stops = 2;
    servers.when_catching_up = [&] {
        heard.emplace_back("catch up");
        if (stops-- > 0) clock.stand_still(30s);
    };
    loop.turn();
    CHECK(fired);  // it was due when the process was stopped
    CHECK(heard == Heard{"catch up", "catch up", "catch up", "gap"});
    CHECK(gaps == std::vector<Duration>{70s});

    heard.clear();
    loop.configure({.idle_cpu_enabled = false});
    servers.post("stopped", [&](const Pass&) { clock.stand_still(5s); });
    loop.turn();
    clock.stand_still(7s);  // between two passes
    loop.turn();
    CHECK(heard == Heard{"catch up", "gap"});
    CHECK(gaps.back() == 12s);
    CHECK(loop.time().stood_still() == 82s);
}

TEST_CASE_FIXTURE(GapFixture, "L-8: a process that is stopped again and again while it catches up still gets on") {
    const Time start = clock.now();
    loop.timers().start({.first_delay = 1s, .interval = 1s}, [](const TimerFired&) {});
    run_until(start + 999ms);
    servers.when_catching_up = [&] { clock.stand_still(2s); };
    bool handled = false;
    servers.post("m", [&](const Pass&) { handled = true; });
    clock.advance_to(start + 5s);
    loop.turn();
    CHECK(handled);
    CHECK(loop.time().stood_still() == 4s + 3 * 2s);
}

TEST_CASE_FIXTURE(GapFixture, "L-8: a pass stood still for what it took longer than its CPU time, if over a second") {
    const auto pass_of = [&](Duration work, Duration stop) {
        gaps.clear();
        servers.post("slow", [&, work, stop](const Pass&) {
            clock.advance(work / 2);
            clock.stand_still(stop);
            clock.advance(work / 2);
        });
        loop.turn();
        loop.turn();
    };
    pass_of(60s, 1s);
    CHECK(gaps.empty());
    pass_of(60s, 1s + 1ns);
    CHECK(gaps == std::vector<Duration>{1s});
    pass_of(60s, 5s);
    CHECK(gaps == std::vector<Duration>{5s});
    CHECK(loop.figures().overruns == 3);  // for its work, not for the stop
    CHECK(kept.count("Tick duration 60000ms exceeded maximum 500ms") == 2);
}

TEST_CASE_FIXTURE(GapFixture, "L-8: time that a pass works counts as running") {
    bool fired = false;
    REQUIRE(loop.timers().once(10s, [&](const TimerFired&) { fired = true; }));
    servers.post("slow", [&](const Pass&) { clock.advance(60s); });
    loop.turn();
    CHECK(gaps.empty());
    loop.turn();
    CHECK(fired);
    CHECK(gaps.empty());
}

TEST_CASE_FIXTURE(GapFixture, "L-8: with work left over, or spinning, the next pass is planned at once") {
    const auto stopped_for_5_s_between_passes = [](LoopFixture& fixture) {
        fixture.clock.advance(5s);
        fixture.loop.turn();
        return fixture.loop.time().stood_still() == 5s;
    };
    for (int i = 0; i < 3; ++i) servers.post("slow", [&](const Pass&) { clock.advance(100ms); });
    CHECK(loop.turn().left);
    CHECK(stopped_for_5_s_between_passes(*this));

    LoopFixture spinning({.idle_cpu_enabled = false});
    spinning.loop.turn();
    CHECK(stopped_for_5_s_between_passes(spinning));
}

TEST_CASE_FIXTURE(GapFixture, "L-8: a wait that only a message can end, or one that a message ended early, is no gap") {
    loop.turn();
    CHECK_FALSE(loop.next_wake());
    clock.advance(1h);
    loop.turn();
    CHECK(gaps.empty());
    REQUIRE(loop.timers().once(1h, [](const TimerFired&) {}));
    loop.turn();
    clock.advance(1s);
    servers.post("early", [](const Pass&) {});
    loop.turn();
    CHECK(gaps.empty());
}

TEST_CASE_FIXTURE(GapFixture,
                  "L-5, L-8: a source or hook that throws while catching up is logged, and the pass goes on") {
    REQUIRE(loop.timers().once(500ms, [](const TimerFired&) {}));
    loop.turn();
    servers.when_catching_up = [] { throw std::runtime_error("closed"); };
    loop.on_gap([](Duration) { throw std::runtime_error("not ready"); });
    loop.on_gap([&](Duration) { heard.emplace_back("last"); });
    clock.advance(10s);
    loop.turn();
    CHECK(heard == Heard{"gap", "last"});
    CHECK(kept.count("Message source failed source=servers error=closed") == 1);
    CHECK(kept.count("Loop hook gap failed error=\"not ready\"") == 1);
}

TEST_CASE_FIXTURE(
    GapFixture,
    "L-8, T-4: a repeating timer on running time misses nothing in a gap, one on real time says what it missed") {
    std::uint64_t running = 0;
    std::uint64_t real = 0;
    REQUIRE(loop.timers().every(1s, [&](const TimerFired& fired) { running += fired.missed; }));
    REQUIRE(loop.timers().schedule({.first_delay = 1s, .interval = 1s, .base = TimeBase::real},
                                   [&](const TimerFired& fired) { real += fired.missed; }));
    const Time start = clock.now();
    run_until(start + 10s);
    CHECK(running + real == 0);
    clock.advance_to(*loop.next_wake() + 60s);
    run_until(clock.now() + 5s);
    CHECK(running == 0);
    CHECK(real >= 59);
    CHECK(real <= 60);
}

TEST_CASE_FIXTURE(GapFixture,
                  "L-8, T-1: after a stop of weeks even the longest timer can be scheduled, first thing in the pass") {
    REQUIRE(loop.timers().once(1s, [](const TimerFired&) {}));
    loop.turn();
    TimerId longest;
    loop.on_gap([&](Duration) { longest = *loop.timers().once(Timers::delay_most, [](const TimerFired&) {}); });
    clock.advance(20 * 24h);
    loop.turn();
    CHECK(loop.timers().remaining(longest) == Timers::delay_most);
}
