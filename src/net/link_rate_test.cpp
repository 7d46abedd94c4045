// Links that send too fast: W-7, fault 25.
#include <doctest/doctest.h>

#include "net/net_fixture.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

Bytes player_frames(std::uint32_t first, std::uint32_t count) {
    Bytes all;
    for (std::uint32_t i = 0; i < count; ++i) {
        all += bytes_of({0, 6, 0x04, 0x00});
        all += numbered(first + i);
    }
    return all;
}

}  // namespace

TEST_CASE_FIXTURE(WorkerFixture,
                  "W-7, fault 25: a burst over the rate is paused, read at the rate, and loses nothing") {
    auto [peer, link] = join(Port::players);
    peer.send(player_frames(0, 500));
    turn_until([&] { return count(InboundKind::paused) == 1; });
    turn(3);
    CHECK(count(InboundKind::frame) == 200);
    CHECK(counts(Port::players).rate_limited.value() == 1);

    pass(1s);
    CHECK(count(InboundKind::frame) <= 400);
    CHECK(count(InboundKind::frame) >= 380);
    CHECK(count(InboundKind::resumed) == 0);
    pass(1s);
    REQUIRE(count(InboundKind::frame) == 500);
    CHECK(count(InboundKind::paused) == 1);
    CHECK(count(InboundKind::resumed) == 1);
    CHECK(seen.back().item.kind == InboundKind::resumed);
    const auto got = payloads(link);
    for (std::uint32_t i = 0; i < got.size(); ++i) REQUIRE(number_in(got[i]) == i);
    CHECK(gave_up(LinkFault::flooded) == 0);
    CHECK(budget.used() == 0);
}

TEST_CASE_FIXTURE(WorkerFixture, "W-7: a link at its rate is never paused") {
    auto [peer, link] = join(Port::players);
    for (std::uint32_t i = 0; i < 300; ++i) {
        peer.send(player_frames(2 * i, 2));
        clock.advance(10ms);
        turn_until([&] { return count(InboundKind::frame) == 2 * i + 2; });
    }
    CHECK(count(InboundKind::paused) == 0);
}

TEST_CASE_FIXTURE(WorkerFixture,
                  "W-7, fault 25: a link over its rate for 10 s is told as flooded once, and read no more") {
    auto [peer, link] = join(Port::players);
    auto [calm, calm_link] = join(Port::players);
    const Bytes flood = player_frames(0, 1'000);
    std::size_t sent = 0;
    const auto flood_for = [&](Duration time) {
        for (Duration gone{0}; gone < time; gone += 10ms) {
            // Whole frames, wherever the kernel cut the last piece.
            sent += peer.send_some(std::span(flood).subspan(sent % flood.size()));
            clock.advance(10ms);
            turn();
        }
    };
    flood_for(9'800ms);
    CHECK(gave_up(LinkFault::flooded) == 0);
    CHECK(count(InboundKind::frame, link) <= 200 + 1'960 + 20);
    calm.send(player_frames(0, 1));
    flood_for(500ms);
    CHECK(gave_up(LinkFault::flooded, link) == 1);
    CHECK(counts(Port::players).gave_up[LinkFault::flooded].value() == 1);
    CHECK(count(InboundKind::frame, calm_link) == 1);

    const std::size_t frames = count(InboundKind::frame, link);
    flood_for(5s);
    CHECK(count(InboundKind::frame, link) == frames);
    CHECK(gave_up(LinkFault::flooded) == 1);
    CHECK(count(InboundKind::closed) == 0);
    // What waits for it here is bounded, and its frame has no deadline.
    CHECK(budget.used() <= 2 * LinkReader::buffer_size);
    CHECK(gave_up(LinkFault::frame_deadline) == 0);
}

TEST_CASE_FIXTURE(WorkerFixture, "W-7: a link that slows down in time starts its 10 s anew") {
    auto [peer, link] = join(Port::players);
    for (int round = 0; round < 5; ++round) {
        peer.send(player_frames(0, 1'500));
        pass(8s);
    }
    CHECK(count(InboundKind::frame) == 7'500);
    CHECK(count(InboundKind::paused) == 5);
    CHECK(count(InboundKind::resumed) == 5);
    CHECK(gave_up(LinkFault::flooded) == 0);
}

TEST_CASE_FIXTURE(WorkerFixture, "B-1: a throttled link's frame deadline stands still") {
    auto [peer, link] = join(Port::players);
    Bytes stream = player_frames(0, 1'500);
    stream += bytes_of({0, 6, 0x04});
    peer.send(stream);
    pass(6'800ms);
    CHECK(count(InboundKind::frame) == 1'500);
    CHECK(gave_up(LinkFault::frame_deadline) == 0);
    pass(9'600ms);
    CHECK(gave_up(LinkFault::frame_deadline) == 0);
    pass(600ms);
    CHECK(gave_up(LinkFault::frame_deadline) == 1);
}

TEST_CASE_FIXTURE(WorkerFixture,
                  "L-8, fault 11: a peer that kept its rate through a long stop is no flood afterwards") {
    auto [peer, link] = join(Port::players);
    turn();
    peer.send(player_frames(0, 6'000));
    clock.stop_in_next_wait(60s);
    turn();
    turn_until([&] { return count(InboundKind::frame) == 6'000; });
    CHECK(count(InboundKind::paused) == 0);
    // The credit is gone with the backlog.
    peer.send(player_frames(0, 400));
    turn_until([&] { return count(InboundKind::paused) == 1; });
    turn(3);
    CHECK(count(InboundKind::frame) == 6'200);
}

TEST_CASE("B-1: a peer that kept its rate while its port stood blocked is no flood afterwards") {
    WorkerFixture net({.items = 16, .bytes = 1'000'000});
    auto [peer, link] = net.join(Port::players);
    net.loop_takes = false;
    std::uint32_t sent = 0;
    for (int second = 0; second < 30; ++second) {
        peer.send(player_frames(sent, 100));
        sent += 100;
        net.clock.advance(1s);
        net.turn();
    }
    CHECK(net.counts(Port::players).blocked.value() == 1);
    net.loop_takes = true;
    net.turn_until([&] { return net.count(InboundKind::frame) == sent; });
    CHECK(net.counts(Port::players).rate_limited.value() == 0);
    CHECK(net.gave_up(LinkFault::flooded) == 0);
}

TEST_CASE_FIXTURE(WorkerFixture, "a throttled link that is closed by its peer still says all it said") {
    auto [peer, link] = join(Port::players);
    peer.send(player_frames(0, 300));
    peer.close();
    turn_until([&] { return count(InboundKind::paused) == 1; });
    pass(1s);
    CHECK(count(InboundKind::frame) == 300);
    CHECK(count(InboundKind::closed) == 1);
    CHECK(seen.back().item.kind == InboundKind::closed);
}
