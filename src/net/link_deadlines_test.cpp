// The deadlines of a link's life: W-7, B-1, L-8.
#include <doctest/doctest.h>

#include "net/link_keeper.h"
#include "net/net_fixture.h"

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(WorkerFixture,
                  "W-7, fault 23: a link that is not greeted in 10 s is told once, not a millisecond early") {
    auto [peer, link] = join(Port::servers, false);
    clock.advance(9'999ms);
    turn(2);
    CHECK(count(InboundKind::gave_up) == 0);
    clock.advance(1ms);
    turn(2);
    REQUIRE(count(InboundKind::gave_up) == 1);
    CHECK(last(InboundKind::gave_up).item.fault() == LinkFault::handshake_deadline);
    CHECK(counts().gave_up[LinkFault::handshake_deadline].value() == 1);
    clock.advance(60s);
    turn(2);
    CHECK(count(InboundKind::gave_up) == 1);
    CHECK(count(InboundKind::closed) == 0);
}

TEST_CASE_FIXTURE(WorkerFixture, "W-7: a greeted link has no handshake deadline any more") {
    auto [peer, link] = join(Port::servers, false);
    clock.advance(9'999ms);
    links->greeted(link);
    turn(2);
    clock.advance(60s);
    turn(2);
    CHECK(count(InboundKind::gave_up) == 0);
}

TEST_CASE_FIXTURE(WorkerFixture, "W-7: dripping bytes does not put the handshake off (fault 23)") {
    auto [peer, link] = join(Port::servers, false);
    peer.send(bytes_of({200, 0}));
    for (int i = 0; i < 9; ++i) {
        clock.advance(1s);
        peer.send(bytes_of({0}));
        turn(2);
    }
    CHECK(count(InboundKind::gave_up) == 0);
    clock.advance(1s);
    turn(2);
    CHECK(count(InboundKind::gave_up) == 1);
}

TEST_CASE_FIXTURE(WorkerFixture, "W-7: an acceptance that crosses the missed handshake deadline saves the link") {
    auto [peer, link] = join(Port::servers, false);
    clock.advance(5s);
    turn();
    peer.send(bytes_of({6, 0, 2, 0x10, 1}));
    turn_until([&] { return budget.used() > 0; });
    clock.advance(5s);
    turn(2);
    REQUIRE(count(InboundKind::gave_up) == 1);
    peer.send(bytes_of({2, 3, 4}));
    turn(2);
    CHECK(count(InboundKind::frame) == 0);
    links->greeted(link);
    turn_until([&] { return count(InboundKind::frame) == 1; });
    CHECK(payloads(link)[0] == bytes_of({1, 2, 3, 4}));
    peer.send(bytes_of({6, 0, 2, 0x10, 1}));
    turn_until([&] { return budget.used() > 0; });
    clock.advance(10s);
    turn(2);
    CHECK(last(InboundKind::gave_up).item.fault() == LinkFault::frame_deadline);
}

TEST_CASE_FIXTURE(WorkerFixture, "W-7, fault 23: a frame has 10 s from its first byte, however it drips") {
    auto [peer, link] = join();
    clock.advance(1h);
    turn();
    peer.send(bytes_of({200}));
    turn_until([&] { return budget.used() > 0; });
    for (int i = 0; i < 9; ++i) {
        clock.advance(1s);
        peer.send(bytes_of({0}));
        turn(2);
    }
    clock.advance(999ms);
    turn(2);
    CHECK(count(InboundKind::gave_up) == 0);
    clock.advance(1ms);
    turn(2);
    REQUIRE(count(InboundKind::gave_up) == 1);
    CHECK(last(InboundKind::gave_up).item.fault() == LinkFault::frame_deadline);
    CHECK(counts().gave_up[LinkFault::frame_deadline].value() == 1);
}

TEST_CASE_FIXTURE(WorkerFixture, "W-7: each frame has its own 10 s, and an idle link none") {
    auto [peer, link] = join();
    for (int i = 0; i < 5; ++i) {
        // The end of one frame and the first byte of the next in one piece.
        Bytes piece = i == 0 ? Bytes{} : bytes_of({0, 2, 0x10});
        piece += bytes_of({2});
        peer.send(piece);
        turn_until([&] { return count(InboundKind::frame) == static_cast<std::size_t>(i); });
        turn(2);
        clock.advance(9s);
        turn(2);
    }
    peer.send(bytes_of({0, 2, 0x10}));
    turn_until([&] { return count(InboundKind::frame) == 5; });
    clock.advance(1h);
    turn(2);
    CHECK(count(InboundKind::gave_up) == 0);
}

TEST_CASE("B-1: deadlines stand still while the port is not read because its inbox is full") {
    WorkerFixture net({.items = 4, .bytes = 1'000'000});
    auto slow = net.join();
    auto fresh = net.join(Port::servers, false);
    slow.peer.send(bytes_of({18, 0, 2}));
    net.turn_until([&] { return net.budget.used() > 0; });
    auto busy = net.join();
    net.clock.advance(4s);
    net.turn(2);

    net.loop_takes = false;
    Bytes many;
    for (std::uint32_t i = 0; i < 10; ++i) many += frame_of(0x1002, numbered(i));
    busy.peer.send(many);
    net.turn_until([&] { return net.counts().blocked.value() == 1; });
    for (int i = 0; i < 100; ++i) {
        net.clock.advance(1s);
        net.turn();
    }
    net.loop_takes = true;
    net.take();
    net.turn(3);
    CHECK(net.count(InboundKind::gave_up) == 0);
    net.clock.advance(5'900ms);
    net.turn(3);
    CHECK(net.count(InboundKind::gave_up) == 0);
    net.clock.advance(200ms);
    net.turn(3);
    CHECK(net.count(InboundKind::gave_up, slow.link) == 1);
    CHECK(net.count(InboundKind::gave_up, fresh.link) == 1);
}

TEST_CASE_FIXTURE(WorkerFixture, "L-8, fault 11: after a gap sockets are read first, and deadlines move by the gap") {
    auto [slow, slow_link] = join();
    auto [fresh, fresh_link] = join(Port::players, false);
    auto [saved, saved_link] = join();
    for (Peer* peer : {&slow, &saved}) peer->send(bytes_of({6, 0, 2}));
    turn_until([&] { return budget.used() >= 256; });
    clock.advance(5s);
    turn(2);

    // The rest of one frame came while the process was stopped.
    saved.send(bytes_of({0x10, 1, 2, 3, 4}));
    clock.stop_in_next_wait(300s);
    turn();
    CHECK(figures.gaps.value() == 1);
    turn_until([&] { return count(InboundKind::frame, saved_link) == 1; });
    CHECK(count(InboundKind::gave_up) == 0);
    clock.advance(4'999ms);
    turn(2);
    CHECK(count(InboundKind::gave_up) == 0);
    clock.advance(1ms);
    turn(2);
    CHECK(count(InboundKind::gave_up, slow_link) == 1);
    CHECK(count(InboundKind::gave_up, fresh_link) == 1);
    CHECK(count(InboundKind::gave_up, saved_link) == 0);
}

TEST_CASE_FIXTURE(WorkerFixture, "L-8, fault 11: a stop outside a wait moves deadlines as one in a wait does") {
    auto [fresh, link] = join(Port::players, false);
    clock.advance(5s);  // the worker is busy: no gap
    turn(2);
    CHECK(figures.gaps.value() == 0);
    clock.stand_still(300s);
    turn();
    CHECK(figures.gaps.value() == 1);
    clock.stop_in_next_wait(20s);
    clock.stand_still(20s);
    turn();
    CHECK(figures.gaps.value() == 3);
    clock.advance(4'999ms);
    turn(2);
    CHECK(count(InboundKind::gave_up, link) == 0);
    clock.advance(1ms);
    turn(2);
    CHECK(count(InboundKind::gave_up, link) == 1);
}

TEST_CASE_FIXTURE(WorkerFixture, "L-8: a second's delay is no gap, and counts") {
    auto [fresh, link] = join(Port::players, false);
    clock.advance(9s);
    turn();
    clock.stop_in_next_wait(1s);
    turn();
    CHECK(figures.gaps.value() == 0);
    CHECK(count(InboundKind::gave_up, link) == 1);
}

TEST_CASE_FIXTURE(WorkerFixture, "W-7: new limits hold from the next turn on") {
    change_limits(Port::servers, [](PortLimits& l) {
        l.handshake_deadline = 2s;
        l.frame_deadline = 1s;
    });
    auto [fresh, fresh_link] = join(Port::servers, false);
    auto [slow, slow_link] = join();
    slow.send(bytes_of({18}));
    turn_until([&] { return budget.used() > 0; });
    clock.advance(1s);
    turn(2);
    CHECK(count(InboundKind::gave_up, slow_link) == 1);
    clock.advance(1s);
    turn(2);
    CHECK(count(InboundKind::gave_up, fresh_link) == 1);
}
