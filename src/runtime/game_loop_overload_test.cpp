// What the loop does when there is more to do than time to do it in (L-4, fault 12).
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/loop_fixture.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct OverloadFixture : LoopFixture {
    using LoopFixture::LoopFixture;

    void flood(ScriptedSource& source, int messages, Duration each) {
        for (int i = 0; i < messages; ++i) source.post("flood", [this, each](const Pass&) { clock.advance(each); });
    }
};

}  // namespace

TEST_CASE_FIXTURE(OverloadFixture,
                  "L-4: a pass stops taking messages once it has run for tick_rate, and the rest comes next") {
    flood(servers, 1'000, 1ms);
    CHECK(loop.turn().messages == 100);
    CHECK(servers.depth() == 900);
    const TurnReport second = loop.turn();
    CHECK(second.messages == 100);
    CHECK(second.left);
    // A handler is never cut short: one that takes longer is the last of its pass.
    while (servers.depth() > 0) loop.turn();
    flood(servers, 3, 150ms);
    for (const std::size_t left : {2u, 1u, 0u}) {
        CHECK(loop.turn().messages == 1);
        CHECK(servers.depth() == left);
    }
    CHECK(kept.lines.empty());
}

TEST_CASE_FIXTURE(OverloadFixture, "L-4, fault 66: answers leave when a pass has taken messages for message_time") {
    LoopConfig config;
    config.message_time = 10ms;
    loop.configure(config);
    std::vector<Time> flushed;
    loop.on_flush([&](const Pass&) { flushed.push_back(clock.now()); });
    const Time began = clock.now();
    flood(servers, 25, 1ms);
    for (const std::size_t taken : {10u, 10u, 5u}) CHECK(loop.turn().messages == taken);
    CHECK(flushed == std::vector<Time>{began + 10ms, began + 20ms, began + 25ms});
    // More than tick_rate it never is.
    config.message_time = 1s;
    loop.configure(config);
    flood(servers, 1'000, 1ms);
    CHECK(loop.turn().messages == 100);
}

TEST_CASE_FIXTURE(OverloadFixture, "L-8, fault 11: a pass that comes late hears what was said before timers judge") {
    LoopConfig config;
    config.message_time = 3ms;
    loop.configure(config);
    loop.turn();
    std::size_t heard = 0;
    loop.timers().start({.first_delay = 200ms}, [&](const TimerFired&) { heard = servers.handled; });
    loop.turn();
    clock.advance(600ms);  // too short for a gap
    flood(servers, 80, 1ms);
    CHECK(loop.turn().messages == 80);
    CHECK(heard == 80);
    // In a pass that comes in time, message_time holds.
    flood(servers, 80, 1ms);
    CHECK(loop.turn().messages == 3);
}

TEST_CASE_FIXTURE(OverloadFixture, "L-4, fault 12: a flood of messages does not starve timers") {
    int fired = 0;
    REQUIRE(loop.timers().every(10ms, [&](const TimerFired& f) { fired += 1 + static_cast<int>(f.missed); }));
    flood(servers, 10'000, 1ms);
    for (int pass = 1; pass <= 50; ++pass) {
        CHECK(loop.turn().left);
        // Messages take 100 ms of each pass; the timer is at most that late.
        CHECK(fired >= (pass - 1) * 10);
    }
    CHECK(servers.depth() == 5'000);
}

TEST_CASE_FIXTURE(OverloadFixture,
                  "L-4, fault 12: a storm of timers does not starve messages, and no timer is lost or out of order") {
    constexpr int storm = 100'000;
    int next = 0;
    bool in_order = true;
    for (int i = 0; i < storm; ++i) {
        REQUIRE(loop.timers().once(1ms, [&, i](const TimerFired&) { in_order = in_order && next++ == i; }));
    }
    clock.advance(1ms);
    for (int pass = 1; pass <= 10; ++pass) {
        int handled = 0;
        players.post("x", [&](const Pass&) { ++handled; });
        const TurnReport report = loop.turn();
        CHECK(handled == 1);
        CHECK(report.timers == 10'000);
        CHECK(report.left == (pass < 10));
    }
    CHECK(next == storm);
    CHECK(in_order);
}

TEST_CASE_FIXTURE(OverloadFixture, "L-4, fault 12: slow timers hold a pass for tick_rate, not for all of them") {
    for (int i = 0; i < 100; ++i) {
        REQUIRE(loop.timers().once(1ms, [&](const TimerFired&) { clock.advance(20ms); }));
    }
    clock.advance(1ms);
    flood(servers, 1'000, 1ms);
    int passes = 0;
    while (loop.timers().size() > 0) {
        const TurnReport report = loop.turn();
        CHECK(report.timers == 5);
        CHECK(report.messages > 0);
        ++passes;
        if (servers.depth() == 0) flood(servers, 1'000, 1ms);
    }
    CHECK(passes == 20);
    CHECK(loop.figures().overruns == 0);
}

TEST_CASE_FIXTURE(OverloadFixture, "B-1, L-4: servers come first, and neither side can starve the other") {
    SUBCASE("a flood of players leaves the servers their share in each pass") {
        flood(players, 10'000, 1ms);
        for (int pass = 0; pass < 10; ++pass) {
            flood(servers, 10, 1ms);
            loop.turn();
            CHECK(servers.depth() == 0);
        }
    }
    SUBCASE("a flood of servers leaves the players their share in each pass") {
        flood(servers, 100'000, 100us);
        flood(players, 10'000, 100us);
        const TurnReport report = loop.turn();
        CHECK(players.handled == loop.config().share_least);
        CHECK(report.messages == 1'000);
    }
    SUBCASE("when both are slow each still gets on in each pass") {
        flood(servers, 10, 200ms);
        flood(players, 10, 200ms);
        for (std::size_t pass = 1; pass <= 10; ++pass) {
            loop.turn();
            CHECK(servers.handled == pass);
            CHECK(players.handled == pass);
        }
    }
}

TEST_CASE("L-4: messages in one pass are bounded also when they take no time") {
    OverloadFixture fixture(LoopConfig{.messages_max = 500});
    fixture.flood(fixture.servers, 1'200, 0ms);
    CHECK(fixture.loop.turn().messages == 500);
    CHECK(fixture.loop.turn().messages == 500);
    const TurnReport last = fixture.loop.turn();
    CHECK(last.messages == 200);
    CHECK_FALSE(last.left);
}

TEST_CASE_FIXTURE(OverloadFixture,
                  "L-4: events that publish events forever are bounded in each pass, and everything else goes on") {
    loop.events().subscribe<Happened>([&](const Happened&) { loop.events().publish(Happened{}); });
    loop.events().publish(Happened{});
    int fired = 0;
    REQUIRE(loop.timers().every(1ms, [&](const TimerFired&) { ++fired; }));
    for (int pass = 1; pass <= 5; ++pass) {
        clock.advance(1ms);
        const TurnReport report = loop.turn();
        CHECK(report.events == loop.config().callbacks_max);
        CHECK(report.left);
        CHECK(fired == pass);
    }
    CHECK(loop.events().waiting() == 1);
}

TEST_CASE_FIXTURE(OverloadFixture,
                  "X-5, L-4: a pass over tick_max logs once, with both figures and the slowest handler by name") {
    SUBCASE("a message") {
        servers.post("quick", [&](const Pass&) { clock.advance(20ms); });
        servers.post("ServerHandshake", [&](const Pass&) { clock.advance(501ms); });
        loop.turn();
        CHECK(kept.lines ==
              std::vector<std::string>{
                  "Tick duration 521ms exceeded maximum 500ms slowest=message name=ServerHandshake ms=501"});
    }
    SUBCASE("a timer in a group") {
        REQUIRE(loop.timers().schedule({.first_delay = 1ms, .group = "saves"},
                                       [&](const TimerFired&) { clock.advance(700ms); }));
        clock.advance(1ms);
        loop.turn();
        CHECK(kept.lines == std::vector<std::string>{
                                "Tick duration 700ms exceeded maximum 500ms slowest=timer name=\"saves 0.1\" ms=700"});
    }
    SUBCASE("an event") {
        loop.events().subscribe_all([&](const EventView&) { clock.advance(2s); });
        loop.events().publish(Happened{});
        loop.turn();
        CHECK(kept.lines ==
              std::vector<std::string>{
                  "Tick duration 2000ms exceeded maximum 500ms slowest=event name=test.happened ms=2000"});
    }
    SUBCASE("the flush") {
        loop.on_flush([&](const Pass&) { clock.advance(600ms); });
        loop.turn();
        CHECK(kept.lines ==
              std::vector<std::string>{"Tick duration 600ms exceeded maximum 500ms slowest=flush name=flush ms=600"});
    }
    CHECK(loop.figures().overruns == 1);
    const std::size_t lines = kept.lines.size();
    servers.post("quick", [](const Pass&) {});
    loop.turn();
    CHECK(lines == 1);
    CHECK(loop.figures().ticks == 2);
}

TEST_CASE_FIXTURE(OverloadFixture, "L-4: a pass of exactly tick_max is no overrun") {
    servers.post("just in time", [&](const Pass&) { clock.advance(500ms); });
    loop.turn();
    CHECK(kept.lines.empty());
    CHECK(loop.figures().overruns == 0);
}
