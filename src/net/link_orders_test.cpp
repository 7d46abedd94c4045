// What the loop has for its links, and what becomes of links that do not take it.
#include "net/link_orders.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "net/net_fixture.h"
#include "protocol/server_messages.h"

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(WorkerFixture, "answers reach the link they are for, in order, and in one piece per turn") {
    auto [first, first_link] = join();
    auto [second, second_link] = join();
    Bytes wanted;
    for (std::uint32_t i = 0; i < 10; ++i) {
        links->send(first_link, frame_of(0x1003, numbered(i)));
        wanted += frame_of(0x1003, numbered(i));
        if (i % 3 == 0) links->send(second_link, frame_of(0x1003, numbered(100 + i)));
    }
    turn();
    Bytes got(1'000);
    const auto size = recv(first.number(), got.data(), got.size(), 0);
    got.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    CHECK(got == wanted);
    CHECK(receive(second, 4 * 8).size() == 4 * 8);
    CHECK(counts().frames_out.value() == 14);
    CHECK(counts().bytes_out.value() == 14 * 8);
}

TEST_CASE_FIXTURE(WorkerFixture, "A-10: news soon after others wait two milliseconds, and leave in one piece") {
    auto [peer, link] = join();
    const auto tell = [&, link = link](std::uint32_t number) {
        links->send_soon(link, frame_of(0x2005, numbered(number)));
        turn();
    };
    clock.advance(10ms);
    turn();
    tell(1);
    CHECK(receive(peer, 8) == frame_of(0x2005, numbered(1)));
    tell(2);
    clock.advance(1ms);
    tell(3);
    CHECK(peer.receive().empty());
    clock.advance(1ms);
    turn();
    const Bytes both = receive(peer, 16);
    Bytes wanted = frame_of(0x2005, numbered(2));
    CHECK(both == (wanted += frame_of(0x2005, numbered(3))));
    CHECK(counts().frames_out.value() == 3);

    // And after a quiet time they leave at once again.
    clock.advance(2ms);
    turn();
    tell(4);
    CHECK(receive(peer, 8) == frame_of(0x2005, numbered(4)));
}

TEST_CASE_FIXTURE(WorkerFixture, "A-10: an answer takes the news before it along, and a close those behind it") {
    auto [peer, link] = join();
    clock.advance(10ms);
    turn();
    Bytes wanted;
    for (std::uint32_t i = 0; i < 4; ++i) {
        wanted += frame_of(0x2005, numbered(i));
        links->send_soon(link, frame_of(0x2005, numbered(i)));
        turn();
    }
    wanted += frame_of(0x2003, numbered(9));
    links->send(link, frame_of(0x2003, numbered(9)));
    CHECK(receive(peer, wanted.size()) == wanted);

    links->send_soon(link, frame_of(0x2005, numbered(10)));
    turn();
    links->report_drained(link);
    turn();
    CHECK(count(InboundKind::drained) == 0);
    clock.advance(2ms);
    turn();
    CHECK(count(InboundKind::drained) == 1);
    links->send_soon(link, frame_of(0x2005, numbered(11)));
    turn();
    links->close(link);
    clock.advance(2ms);
    turn();
    wanted = frame_of(0x2005, numbered(10));
    CHECK(receive(peer, 17) == (wanted += frame_of(0x2005, numbered(11))));
    CHECK(peer.ended);
}

TEST_CASE_FIXTURE(WorkerFixture, "fault 26: much news waits for nothing but its reader, and goes when the link goes") {
    auto [peer, link] = join();
    auto [other, other_link] = join();
    clock.advance(10ms);
    turn();
    links->send_soon(link, frame_of(0x2005));
    turn();
    const Bytes much = frame_of(0x2005, numbered(1, HeldLinks::bytes_max));
    links->send_soon(link, much);
    links->send_soon(other_link, frame_of(0x2005, numbered(2)));
    CHECK(receive(peer, 4 + much.size()).size() == 4 + much.size());
    CHECK(other.receive().empty());
    other.reset();
    turn_until([&] { return count(InboundKind::closed, other_link) == 1; });
    clock.advance(2ms);
    turn(2);
    CHECK(budget.used() == 0);
}

TEST_CASE_FIXTURE(WorkerFixture, "W-3: a message is encoded in the byte order of its port") {
    auto [peer, link] = join();
    links->send(link, ServerHeartbeatAck{ServerHeartbeatAck::Accepted{UnixMs{258}}});
    CHECK(receive(peer, 13) == bytes_of({11, 0, 0x03, 0x10, 1, 2, 1, 0, 0, 0, 0, 0, 0}));
}

TEST_CASE_FIXTURE(WorkerFixture, "a frame for many is kept once and reaches each of them") {
    std::vector<Joined> all;
    std::vector<ConnectionId> ids;
    for (int i = 0; i < 30; ++i) {
        all.push_back(join());
        ids.push_back(all.back().link);
    }
    const Bytes frame = frame_of(0x1003, numbered(9, 100));
    links->send(ids[3], frame_of(0x1003, numbered(1)));
    links->send_to_all(ids, frame);
    links->flush();
    CHECK(worker->outbox().size() == 8 + frame.size() + 31 * sizeof(OutboundEntry));
    for (std::size_t i = 0; i < all.size(); ++i) {
        Bytes wanted = i == 3 ? frame_of(0x1003, numbered(1)) : Bytes{};
        wanted += frame;
        CHECK(receive(all[i].peer, wanted.size()) == wanted);
    }
}

TEST_CASE_FIXTURE(WorkerFixture,
                  "fault 31: a reply for a link that is gone reaches nobody, not even the slot's next user") {
    auto [first, first_link] = join();
    first.close();
    turn_until([&] { return count(InboundKind::closed) == 1; });
    auto [second, second_link] = join();
    REQUIRE(second_link.slot == first_link.slot);
    links->send(first_link, frame_of(0x1003, numbered(1)));
    links->close(first_link);
    links->cut(first_link);
    links->greeted(first_link);
    turn(3);
    CHECK(figures.stale_replies.value() == 1);
    links->send(second_link, frame_of(0x1003, numbered(2)));
    CHECK(receive(second, 8) == frame_of(0x1003, numbered(2)));
    CHECK(count(InboundKind::closed) == 1);
}

TEST_CASE_FIXTURE(WorkerFixture,
                  "P-5: a close sends the last words, and no reset overtakes them though the peer was talking") {
    auto [peer, link] = join();
    peer.send(frame_of(0x1002, numbered(1)));
    turn_until([&] { return count(InboundKind::frame) == 1; });
    // Bytes that nobody will read must not turn the close into a reset.
    peer.send(frame_of(0x1002, numbered(2)));
    const Bytes words = frame_of(0x1011, numbered(3, 4'000));
    links->send(link, words);
    links->close(link);
    links->send(link, frame_of(0x1003));
    turn(3);
    peer.send(frame_of(0x1002, numbered(4)));
    turn(3);
    CHECK(count(InboundKind::closed) == 0);
    CHECK(receive(peer, words.size() + 1) == words);
    CHECK(peer.ended);
    CHECK_FALSE(peer.was_reset);
    CHECK(count(InboundKind::frame) == 1);
    CHECK(figures.stale_replies.value() == 1);
    peer.close();
    turn_until([&] { return count(InboundKind::closed) == 1; });
    CHECK(last(InboundKind::closed).item.reason() == CloseReason::asked);
}

TEST_CASE_FIXTURE(WorkerFixture, "P-5: a peer that does not end its side is waited for one second") {
    auto [peer, link] = join();
    links->close(link);
    turn(2);
    clock.advance(999ms);
    turn(2);
    CHECK(count(InboundKind::closed) == 0);
    clock.advance(1ms);
    turn(2);
    CHECK(count(InboundKind::closed) == 1);
    CHECK(counts().closed[CloseReason::asked].value() == 1);
    CHECK(counts().connections.value() == 0);
}

TEST_CASE_FIXTURE(WorkerFixture, "P-5: last words that the peer does not take are tried for one second") {
    auto [peer, link] = join(Port::servers, true, 4'096);
    change_limits(Port::servers, [](PortLimits& l) { l.unsent_bytes_max = 8 << 20; });
    links->send(link, Bytes(4 << 20));
    links->close(link);
    turn(2);
    CHECK(budget.used() > 0);
    clock.advance(999ms);
    turn(2);
    CHECK(count(InboundKind::closed) == 0);
    clock.advance(1ms);
    turn(2);
    CHECK(count(InboundKind::closed) == 1);
    CHECK(budget.used() == 0);
}

TEST_CASE_FIXTURE(WorkerFixture, "what one turn cannot send goes when the peer takes it, in order") {
    auto [peer, link] = join(Port::servers, true, 4'096);
    change_limits(Port::servers, [](PortLimits& l) { l.unsent_bytes_max = 8 << 20; });
    Bytes wanted;
    for (std::uint32_t i = 0; i < 300; ++i) {
        const Bytes frame = frame_of(0x1003, numbered(i, 8'000));
        links->send(link, frame);
        wanted += frame;
        if (i % 10 == 0) turn();
    }
    turn();
    CHECK(budget.used() > 0);
    CHECK(receive(peer, wanted.size()) == wanted);
    CHECK(budget.used() == 0);
    CHECK(counts().bytes_out.value() == wanted.size());
}

TEST_CASE_FIXTURE(WorkerFixture,
                  "W-7, fault 26: a peer that never reads is cut at its limit, and memory stays bounded") {
    auto [peer, link] = join(Port::servers, true, 4'096);
    auto [other, other_link] = join();
    const Bytes frame = frame_of(0x1003, numbered(0, 8'000));
    std::size_t most_buffered = 0;
    int frames = 0;
    while (count(InboundKind::closed) == 0 && frames < 2'000) {
        links->send(link, frame);
        ++frames;
        turn();
        most_buffered = std::max(most_buffered, budget.used());
    }
    REQUIRE(count(InboundKind::closed, link) == 1);
    CHECK(last(InboundKind::closed).item.reason() == CloseReason::slow_reader);
    CHECK(counts().closed[CloseReason::slow_reader].value() == 1);
    CHECK(most_buffered > 128 * 1024);
    CHECK(most_buffered <= 512 * 1024);
    CHECK(budget.used() == 0);
    links->send(other_link, frame);
    CHECK(receive(other, frame.size()) == frame);
}

TEST_CASE_FIXTURE(WorkerFixture,
                  "W-7, fault 26: one answer too large for a peer that does not read cuts it without buffering") {
    auto [peer, link] = join(Port::servers, true, 4'096);
    links->send(link, Bytes(8 << 20));
    turn(2);
    CHECK(count(InboundKind::closed) == 1);
    CHECK(budget.used() == 0);
}

TEST_CASE_FIXTURE(WorkerFixture, "a cut ends the link at once, with whatever was unsent") {
    auto [peer, link] = join();
    links->send(link, frame_of(0x1003));
    links->cut(link);
    links->send(link, frame_of(0x1003));
    turn();
    CHECK(count(InboundKind::closed) == 1);
    CHECK(receive(peer, 1).empty());
    CHECK(peer.was_reset);
}

TEST_CASE_FIXTURE(WorkerFixture,
                  "what a peer said before it vanished is heard, though an answer to it could not be sent") {
    auto [peer, link] = join(Port::matchmakers);
    Bytes stream;
    for (std::uint32_t i = 0; i < 15'000; ++i) stream += frame_of(0x2004, numbered(i));
    peer.send(stream);
    peer.close();
    turn_until([&] { return count(InboundKind::frame) > 0; });
    for (int i = 0; i < 3; ++i) {
        links->send(link, frame_of(0x2005));
        turn();
    }
    turn_until([&] { return count(InboundKind::closed) == 1; });
    CHECK(count(InboundKind::frame) == 15'000);
    CHECK(seen.back().item.kind == InboundKind::closed);
}

TEST_CASE("fault 8, invariant 18: a link that needs more than all buffers may take is cut, the rest goes on") {
    WorkerFixture net({}, 48 * 1024);
    auto greedy = net.join(Port::servers, true, 4'096);
    auto talker = net.join(Port::matchmakers);
    auto calm = net.join();
    net.change_limits(Port::servers, [](PortLimits& l) { l.unsent_bytes_max = 8 << 20; });
    net.links->send(greedy.link, Bytes(4 << 20));
    net.turn(3);
    CHECK(net.count(InboundKind::closed, greedy.link) == 1);
    CHECK(net.last(InboundKind::closed).item.reason() == CloseReason::buffers_full);
    CHECK(net.budget.used() == 0);

    // The same for a frame that is too large to be kept until it is whole.
    Bytes frame = frame_of(0x2002, Bytes(60'000));
    frame.pop_back();
    std::size_t sent = 0;
    net.turn_until([&] {
        if (sent < frame.size()) sent += talker.peer.send_some(std::span(frame).subspan(sent));
        REQUIRE(net.budget.used() <= 48 * 1024);
        return net.count(InboundKind::closed, talker.link) == 1;
    });
    CHECK(net.last(InboundKind::closed).item.reason() == CloseReason::buffers_full);
    CHECK(net.budget.used() == 0);

    calm.peer.send(frame_of(0x1002));
    net.turn_until([&] { return net.count(InboundKind::frame, calm.link) == 1; });
    net.links->send(calm.link, frame_of(0x1003));
    CHECK(net.receive(calm.peer, 4).size() == 4);
}

TEST_CASE_FIXTURE(WorkerFixture,
                  "invariant 18: a link that would overfill its worker's queue is cut, the others go on") {
    auto [greedy, greedy_link] = join();
    auto [calm, calm_link] = join();
    Links small({&*worker}, {ByteOrder::little, ByteOrder::little, ByteOrder::big}, 10'000);
    small.send(calm_link, frame_of(0x1003, numbered(1)));
    for (int i = 0; i < 20; ++i) small.send(greedy_link, frame_of(0x1003, numbered(2, 1'000)));
    CHECK(small.overruns() > 0);
    small.flush();
    CHECK(worker->outbox().size() < 11'000);
    turn(2);
    CHECK(count(InboundKind::closed, greedy_link) == 1);
    CHECK(receive(calm, 8) == frame_of(0x1003, numbered(1)));
    // The worker took what waited: there is room again.
    small.send(calm_link, frame_of(0x1003, numbered(3, 8'000)));
    small.flush();
    CHECK(receive(calm, 8'004).size() == 8'004);
}
