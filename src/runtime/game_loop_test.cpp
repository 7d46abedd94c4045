#include "runtime/game_loop.h"

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/loop_fixture.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

using Heard = std::vector<std::string>;

std::uint64_t errors(const LoopFigures& shot, HandlerKind kind) {
    return shot.callback_errors[static_cast<std::size_t>(kind)];
}

}  // namespace

TEST_CASE_FIXTURE(LoopFixture,
                  "L-2: a pass is messages, timers, events, session updates, then the flush, all at one time") {
    Heard heard;
    std::vector<Time> times;
    const auto note = [&](std::string what, Time now) {
        heard.push_back(std::move(what));
        times.push_back(now);
        clock.advance(1ms);  // each handler takes a while, and none of them sees it
    };
    loop.on_flush([&](const Pass& pass) { note("flush", pass.now); });
    loop.on_update([&](const Pass& pass) {
        note("update", pass.now);
        return std::size_t{1};
    });
    loop.events().subscribe<Happened>([&](const Happened&, const EventView& event) { note("event", event.time()); });
    REQUIRE(loop.timers().once(1ms, [&](const TimerFired& fired) { note("timer", fired.pass.now); }));
    players.post("hello", [&](const Pass& pass) {
        note("player", pass.now);
        loop.events().publish(Happened{});
    });
    servers.post("hello", [&](const Pass& pass) { note("server", pass.now); });
    clock.advance(1ms);
    const Time start = clock.now();
    const TurnReport report = loop.turn();
    CHECK(heard == Heard{"server", "player", "timer", "event", "update", "flush"});
    for (const Time time : times) CHECK(time == start);
    CHECK(report.messages == 2);
    CHECK(report.timers == 1);
    CHECK(report.events == 1);
    CHECK(report.updates == 1);
    CHECK(report.work_units() == 4);
    CHECK_FALSE(report.left);
    CHECK_FALSE(report.idle());
}

TEST_CASE_FIXTURE(LoopFixture, "O-4: the loop processes messages") {
    bool processed = false;
    players.post("test", [&](const Pass&) { processed = true; });
    loop.turn();
    CHECK(processed);
}

TEST_CASE_FIXTURE(LoopFixture, "O-4: a timer of 100 ms fires when 150 ms have passed") {
    bool fired = false;
    REQUIRE(loop.timers().once(100ms, [&](const TimerFired&) { fired = true; }));
    loop.turn();
    clock.advance(99ms);
    loop.turn();
    CHECK_FALSE(fired);
    clock.advance(51ms);
    loop.turn();
    CHECK(fired);
}

TEST_CASE_FIXTURE(LoopFixture, "L-2: a message posted by a handler waits for the next pass") {
    int handled = 0;
    servers.post("first", [&](const Pass&) {
        ++handled;
        servers.post("second", [&](const Pass&) { ++handled; });
    });
    loop.turn();
    CHECK(handled == 1);
    loop.turn();
    CHECK(handled == 2);
}

TEST_CASE_FIXTURE(LoopFixture, "L-3: an idle pass wants the next only when a timer is due or a message comes") {
    CHECK(loop.turn().idle());
    CHECK_FALSE(loop.next_wake());
    REQUIRE(loop.timers().once(100ms, [](const TimerFired&) {}));
    CHECK(loop.turn().idle());
    REQUIRE(loop.next_wake());
    CHECK(*loop.next_wake() > clock.now());
    CHECK(*loop.next_wake() <= clock.now() + 100ms);
}

TEST_CASE("L-3: idle_sleep bounds the wait, and with idle off there is none") {
    LoopFixture bounded({.idle_sleep = 5ms});
    bounded.loop.turn();
    CHECK(bounded.loop.next_wake() == bounded.clock.now() + 5ms);
    REQUIRE(bounded.loop.timers().once(2ms, [](const TimerFired&) {}));
    CHECK(bounded.loop.next_wake() == bounded.clock.now() + 2ms);

    LoopFixture spinning({.idle_cpu_enabled = false});
    spinning.loop.turn();
    CHECK(spinning.loop.next_wake() == spinning.clock.now());
}

TEST_CASE_FIXTURE(LoopFixture,
                  "L-5, fault 13: what a handler throws is logged and counted by kind, and the pass goes on") {
    Heard heard;
    const auto fail = [](auto&&...) { throw std::runtime_error("broken"); };
    servers.post("ServerHeartbeat", fail);
    servers.post("next", [&](const Pass&) { heard.emplace_back("message"); });
    REQUIRE(loop.timers().once(1ms, fail));
    REQUIRE(loop.timers().once(1ms, [&](const TimerFired&) { heard.emplace_back("timer"); }));
    loop.events().subscribe<Happened>(fail);
    loop.events().subscribe<Happened>([&](const Happened&) { heard.emplace_back("event"); });
    loop.events().publish(Happened{});
    loop.on_update([](const Pass&) -> std::size_t { throw std::runtime_error("broken"); });
    loop.on_update([&](const Pass&) {
        heard.emplace_back("update");
        return std::size_t{0};
    });
    loop.on_flush(fail);
    loop.on_flush([&](const Pass&) { heard.emplace_back("flush"); });
    clock.advance(1ms);
    loop.turn();
    CHECK(heard == Heard{"message", "timer", "event", "update", "flush"});

    const LoopFigures shot = loop.figures();
    for (const HandlerKind kind :
         {HandlerKind::message, HandlerKind::timer, HandlerKind::event, HandlerKind::update, HandlerKind::flush}) {
        CHECK(errors(shot, kind) == 1);
    }
    CHECK(kept.count("Message handler failed source=servers message=ServerHeartbeat error=broken") == 1);
    CHECK(kept.count("Timer 0.1 callback failed error=broken") == 1);
    CHECK(kept.count("Event test.happened listener failed error=broken") == 1);
    CHECK(kept.count("Loop hook update failed error=broken") == 1);
    CHECK(kept.count("Loop hook flush failed error=broken") == 1);
    CHECK(shot.failed_ticks == 0);
}

TEST_CASE("X-5, L-5: what escapes a pass is logged as a failed tick, and the loop goes on") {
    // A source whose own bookkeeping fails, outside of any handler.
    class Broken final : public MessageSource {
    public:
        std::string_view name() const override { return "broken"; }
        bool refill() override { return true; }
        bool handle_next(const Pass&) override {
            if (clock != nullptr) clock->advance(1ms);
            return true;
        }
        std::string_view last_handled() const override { throw std::runtime_error("no name"); }
        std::size_t depth() const override { return 0; }
        VirtualClock* clock = nullptr;
    };
    LoopFixture fixture({.messages_max = 10});
    Broken broken;
    broken.clock = &fixture.clock;
    fixture.loop.add_source(broken);
    CHECK(fixture.loop.turn().left);
    CHECK(fixture.kept.count("Game loop tick failed error=\"no name\"") == 1);
    CHECK(fixture.loop.figures().failed_ticks == 1);

    broken.clock = nullptr;
    bool handled = false;
    fixture.servers.post("x", [&](const Pass&) { handled = true; });
    CHECK(fixture.loop.turn().left);
    CHECK(handled);
    CHECK(fixture.loop.figures().ticks == 2);
}

TEST_CASE_FIXTURE(LoopFixture, "L-6: the figures of a loop hold what passes, timers, events and queues know") {
    for (int i = 0; i < 3; ++i) players.post("x", [](const Pass&) {});
    REQUIRE(loop.timers().once(1ms, [](const TimerFired&) {}));
    REQUIRE(loop.timers().once(1h, [](const TimerFired&) {}));
    loop.events().publish(Happened{});
    clock.advance(1ms);
    loop.turn();
    players.post("y", [](const Pass&) {});
    loop.events().publish(Happened{});
    const LoopFigures shot = loop.figures();
    CHECK(shot.ticks == 1);
    CHECK(shot.messages_handled == 3);
    CHECK(shot.timers_fired == 1);
    CHECK(shot.events_handled == 1);
    CHECK(shot.work_units_avg == doctest::Approx(5));
    CHECK(shot.timers_outstanding == 1);
    CHECK(shot.events_waiting == 1);
    REQUIRE(shot.queues.size() == 2);
    CHECK(shot.queues[0].name == "servers");
    CHECK(shot.queues[0].depth == 0);
    CHECK(shot.queues[1].name == "players");
    CHECK(shot.queues[1].depth == 1);
}

TEST_CASE_FIXTURE(LoopFixture, "L-7: the same script on the same clock gives the same passes") {
    const auto trace = [] {
        LoopFixture own;
        Heard heard;
        const Time start = own.clock.now();
        REQUIRE(own.loop.timers().every(7ms, [&](const TimerFired& fired) {
            heard.push_back(fmt::format("timer {}", (fired.pass.now - start).count()));
            own.players.post("x", [&](const Pass& pass) { heard.push_back(fmt::format("pass {}", pass.number)); });
        }));
        own.run_until(start + 1s);
        return heard;
    };
    const Heard first = trace();
    CHECK(first.size() > 280);
    CHECK(first == trace());
}
