#include "net/link_reader.h"

#include <vector>

#include <doctest/doctest.h>

#include "net/net_fixture.h"

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(WorkerFixture, "W-1, fault 22: a frame may arrive one byte at a time") {
    auto [peer, link] = join();
    Bytes stream;
    stream += frame_of(0x1002, numbered(1, 16));
    stream += frame_of(0x1010);
    stream += frame_of(0x1002, numbered(2, 300));
    for (const std::byte byte : stream) {
        const auto before = counts().bytes_in.value();
        peer.send({byte});
        turn_until([&] { return counts().bytes_in.value() > before; });
    }
    const auto got = payloads();
    REQUIRE(got.size() == 3);
    CHECK(got[0] == numbered(1, 16));
    CHECK(got[1].empty());
    CHECK(got[2] == numbered(2, 300));
    CHECK(last(InboundKind::frame).item.code == 0x1002);
    CHECK(budget.used() == 0);
}

TEST_CASE_FIXTURE(WorkerFixture, "W-1, fault 22: two frames split at every point are the same two frames") {
    auto [peer, link] = join();
    Bytes stream = frame_of(0x1002, numbered(7, 16));
    stream += frame_of(0x1006, numbered(8, 40));
    for (std::size_t split = 0; split <= stream.size(); ++split) {
        CAPTURE(split);
        seen.clear();
        const auto middle = stream.begin() + static_cast<std::ptrdiff_t>(split);
        const auto before = counts().bytes_in.value();
        peer.send(Bytes(stream.begin(), middle));
        turn_until([&] { return counts().bytes_in.value() == before + split; });
        peer.send(Bytes(middle, stream.end()));
        turn_until([&] { return payloads().size() == 2; });
        CHECK(payloads() == std::vector<Bytes>{numbered(7, 16), numbered(8, 40)});
    }
}

TEST_CASE_FIXTURE(WorkerFixture, "W-1, fault 22: many frames at once, more than one read takes, come in order") {
    change_limits(Port::matchmakers, [](PortLimits& l) { l.messages_per_second = 0; });
    auto [peer, link] = join(Port::matchmakers);
    Bytes stream;
    constexpr std::uint32_t frames = 20'000;
    for (std::uint32_t i = 0; i < frames; ++i) stream += frame_of(0x2002, numbered(i, 4 + i % 23));
    std::size_t sent = 0;
    turn_until([&] {
        sent += peer.send_some(std::span(stream).subspan(sent));
        return payloads().size() == frames;
    });
    const auto got = payloads();
    for (std::uint32_t i = 0; i < frames; ++i) REQUIRE(got[i] == numbered(i, 4 + i % 23));
    CHECK(counts(Port::matchmakers).frames_in.value() == frames);
    CHECK(counts(Port::matchmakers).bytes_in.value() == stream.size());
    CHECK(budget.used() == 0);
}

TEST_CASE_FIXTURE(WorkerFixture, "W-3: the player port is read in big-endian order") {
    auto [peer, link] = join(Port::players);
    peer.send(bytes_of({0, 2, 0, 9}));
    turn_until([&] { return count(InboundKind::frame) == 1; });
    CHECK(last(InboundKind::frame).item.code == 9);
}

TEST_CASE_FIXTURE(WorkerFixture, "W-7, fault 24: a length of 0, 1 or over the limit is told, and nothing is buffered") {
    for (const auto& [length, kind] : {std::pair{0, WireError::bad_length},
                                       {1, WireError::bad_length},
                                       {8193, WireError::too_large},
                                       {65535, WireError::too_large}}) {
        CAPTURE(length);
        auto [peer, link] = join();
        Bytes stream = frame_of(0x1002, numbered(5));
        stream += bytes_of({length & 0xFF, length >> 8});
        stream += Bytes(5'000);
        peer.send(stream);
        turn_until([&] { return count(InboundKind::malformed, link) == 1; });
        CHECK(last(InboundKind::malformed).item.error() == kind);
        CHECK(count(InboundKind::frame, link) == 1);
        CHECK(budget.used() == 0);

        // The loop has not decided yet: the link stays, and whatever it says is not read.
        peer.send(frame_of(0x1002));
        turn(5);
        CHECK(count(InboundKind::frame, link) == 1);
        CHECK(count(InboundKind::malformed, link) == 1);
        CHECK(count(InboundKind::closed, link) == 0);
        links->close(link);
        peer.close();
        turn_until([&] { return count(InboundKind::closed, link) == 1; });
        CHECK(last(InboundKind::closed).item.reason() == CloseReason::asked);
    }
}

TEST_CASE_FIXTURE(WorkerFixture, "W-7: the largest length of each port is taken, and changes with the limits") {
    for (const auto& [port, length_max] :
         {std::pair{Port::servers, std::size_t{8192}}, {Port::matchmakers, std::size_t{65535}}}) {
        auto [peer, link] = join(port);
        const Bytes frame = frame_of(0x1002, numbered(1, length_max - 2));
        std::size_t sent = 0;
        turn_until([&] {
            sent += peer.send_some(std::span(frame).subspan(sent));
            return count(InboundKind::frame, link) == 1;
        });
        CHECK(payloads(link)[0].size() == length_max - 2);
    }
    auto [peer, link] = join();
    change_limits(Port::servers, [](PortLimits& l) { l.length_max = 100; });
    peer.send(frame_of(0x1002, numbered(1, 98)));
    turn_until([&] { return count(InboundKind::frame, link) == 1; });
    peer.send(frame_of(0x1002, numbered(1, 99)));
    turn_until([&] { return count(InboundKind::malformed, link) == 1; });
}

TEST_CASE_FIXTURE(WorkerFixture, "W-6, invariant 19: a malformed link leaves every other one undisturbed") {
    auto [good, good_link] = join();
    auto [other, other_link] = join(Port::players);
    auto [bad, bad_link] = join();
    good.send(bytes_of({18, 0, 2}));
    other.send(bytes_of({0, 2}));
    bad.send(bytes_of({0, 0, 0}));
    turn_until([&] { return count(InboundKind::malformed) == 1; });
    Bytes rest = bytes_of({0x10});
    rest += numbered(3, 16);
    good.send(rest);
    other.send(bytes_of({0, 9}));
    turn_until([&] { return count(InboundKind::frame) == 2; });
    CHECK(payloads(good_link) == std::vector<Bytes>{numbered(3, 16)});
    CHECK(count(InboundKind::malformed, good_link) == 0);
    CHECK(count(InboundKind::frame, other_link) == 1);
    CHECK(count(InboundKind::closed) == 0);
}

TEST_CASE_FIXTURE(WorkerFixture, "fault 21: a close in mid frame drops the part and ends the link once") {
    auto [peer, link] = join();
    Bytes stream = frame_of(0x1002, numbered(1));
    stream += bytes_of({18, 0, 2, 0x10, 1});
    peer.send(stream);
    peer.close();
    turn_until([&] { return count(InboundKind::closed) == 1; });
    CHECK(payloads(link) == std::vector<Bytes>{numbered(1)});
    CHECK(last(InboundKind::closed).item.reason() == CloseReason::peer_closed);
    CHECK(budget.used() == 0);
    CHECK(counts().connections.value() == 0);
}

TEST_CASE_FIXTURE(WorkerFixture, "fault 21: a reset in mid frame drops the part and ends the link once") {
    auto [peer, link] = join();
    peer.send(bytes_of({18, 0, 2, 0x10, 1}));
    turn_until([&] { return budget.used() > 0; });
    peer.reset();
    turn_until([&] { return count(InboundKind::closed) == 1; });
    CHECK(last(InboundKind::closed).item.reason() == CloseReason::peer_reset);
    CHECK(budget.used() == 0);
    turn(5);
    CHECK(count(InboundKind::closed) == 1);
}

TEST_CASE_FIXTURE(WorkerFixture, "what a peer said before it closed arrives before its end") {
    auto [peer, link] = join(Port::matchmakers);
    Bytes stream;
    for (std::uint32_t i = 0; i < 15'000; ++i) stream += frame_of(0x2004, numbered(i));
    peer.send(stream);
    peer.close();
    turn_until([&] { return count(InboundKind::closed) == 1; });
    CHECK(payloads(link).size() == 15'000);
    CHECK(seen.back().item.kind == InboundKind::closed);
}

TEST_CASE_FIXTURE(WorkerFixture,
                  "F-11: frames of the server port carry the kernel's round trip, once a second at most") {
    auto [peer, link] = join();
    auto [player, player_link] = join(Port::players);
    const auto rtt_of_next = [&](Peer& from, const Bytes& frame) {
        const std::size_t before = count(InboundKind::frame);
        from.send(frame);
        turn_until([&] { return count(InboundKind::frame) > before; });
        return last(InboundKind::frame).item.rtt_us;
    };
    CHECK(rtt_of_next(peer, frame_of(0x1002)) > 0);
    CHECK(rtt_of_next(peer, frame_of(0x1002)) == 0);
    clock.advance(999ms);
    CHECK(rtt_of_next(peer, frame_of(0x1002)) == 0);
    clock.advance(1ms);
    CHECK(rtt_of_next(peer, frame_of(0x1002)) > 0);
    CHECK(rtt_of_next(player, bytes_of({0, 2, 0, 9})) == 0);
}

TEST_CASE_FIXTURE(WorkerFixture, "the loop is woken once per turn, however many links spoke") {
    std::vector<Joined> all;
    for (int i = 0; i < 20; ++i) all.push_back(join());
    turn(3);
    for (Joined& joined : all) joined.peer.send(frame_of(0x1002));
    const int before = loop.notified;
    int turns = 0;
    seen.clear();
    turn_until([&] {
        ++turns;
        return count(InboundKind::frame) == all.size();
    });
    CHECK(loop.notified - before <= turns - 1);
    const int quiet = loop.notified;
    turn(5);
    CHECK(loop.notified == quiet);
}
