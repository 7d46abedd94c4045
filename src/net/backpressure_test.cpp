// A loop that does not keep up: its ports are left unread, and nothing is lost (B-1).
#include <map>
#include <vector>

#include <doctest/doctest.h>

#include "base/random.h"
#include "net/net_fixture.h"

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("B-1: a full inbox stops the reading of its port, and nothing is lost or reordered") {
    WorkerFixture net({.items = 100, .bytes = 1'000'000});
    net.change_limits(Port::servers, [](PortLimits& l) { l.messages_per_second = 0; });
    constexpr std::size_t peers = 5;
    constexpr std::uint32_t frames = 30'000;
    std::vector<WorkerFixture::Joined> all;
    std::vector<Bytes> streams(peers);
    std::vector<std::size_t> sent(peers);
    for (std::size_t i = 0; i < peers; ++i) {
        all.push_back(net.join());
        for (std::uint32_t n = 0; n < frames; ++n) streams[i] += frame_of(0x1002, numbered(n));
    }
    net.seen.clear();
    net.loop_takes = false;

    // The peers push as hard as they can, and the loop takes only now and then.
    Random random(5);
    std::map<std::uint32_t, std::uint32_t> next;
    std::size_t received = 0;
    for (int round = 0; received < peers * frames && round < 100'000; ++round) {
        for (std::size_t i = 0; i < peers; ++i) {
            if (sent[i] < streams[i].size()) sent[i] += all[i].peer.send_some(std::span(streams[i]).subspan(sent[i]));
        }
        net.turn();
        // One read of one link may come on top of the bound.
        REQUIRE(net.inbox(Port::servers).size() <= 100 + LinkReader::buffer_size / 8);
        if (!random.chance(0.3)) continue;
        net.take();
        for (const Seen& s : net.seen) {
            REQUIRE(s.item.kind == InboundKind::frame);
            REQUIRE(number_in(s.payload) == next[s.item.connection.slot]++);
            ++received;
        }
        net.seen.clear();
    }
    CHECK(received == peers * frames);
    CHECK(net.counts().blocked.value() > 10);
    CHECK(net.budget.used() == 0);
}

TEST_CASE("B-1: players that fill their inbox do not hold the servers up") {
    WorkerFixture net({.items = 10, .bytes = 1'000'000});
    auto player = net.join(Port::players);
    auto server = net.join();
    net.loop_takes = false;
    Bytes flood;
    for (int i = 0; i < 100; ++i) flood += bytes_of({0, 2, 0, 9});
    player.peer.send(flood);
    net.turn_until([&] { return net.counts(Port::players).blocked.value() == 1; });
    server.peer.send(frame_of(0x1002));
    net.turn_until([&] { return net.inbox(Port::servers).size() == 1; });
    CHECK(net.counts(Port::servers).blocked.value() == 0);
}

TEST_CASE("B-1: a full inbox holds newcomers back until the loop took what was there") {
    WorkerFixture net({.items = 3, .bytes = 1'000'000});
    auto busy = net.join();
    net.loop_takes = false;
    busy.peer.send(frame_of(0x1002));
    busy.peer.send(frame_of(0x1002));
    busy.peer.send(frame_of(0x1002));
    net.turn_until([&] { return net.counts().blocked.value() == 1; });
    const Peer newcomer(net.address(Port::servers));
    net.turn(10);
    CHECK(net.counts().accepted.value() == 1);
    net.loop_takes = true;
    net.take();
    net.turn_until([&] { return net.counts().accepted.value() == 2; });
}

TEST_CASE("B-1: an end that happens while the port is blocked is told after what was said before it") {
    WorkerFixture net({.items = 4, .bytes = 1'000'000});
    auto [peer, link] = net.join();
    net.loop_takes = false;
    Bytes stream;
    for (std::uint32_t i = 0; i < 10'000; ++i) stream += frame_of(0x1002, numbered(i));
    net.change_limits(Port::servers, [](PortLimits& l) { l.messages_per_second = 0; });
    peer.send(stream);
    net.turn_until([&] { return net.counts().blocked.value() == 1; });
    peer.close();
    net.turn(10);
    net.loop_takes = true;
    net.turn_until([&] { return net.count(InboundKind::closed) == 1; });
    CHECK(net.payloads(link).size() == 10'000);
    CHECK(net.seen.back().item.kind == InboundKind::closed);
}

TEST_CASE("L-3, B-1: a worker whose ports are blocked sleeps, and the loop's take wakes it") {
    WorkerFixture net({.items = 2, .bytes = 1'000'000});
    auto [peer, link] = net.join();
    net.loop_takes = false;
    peer.send(frame_of(0x1002, numbered(0)));
    peer.send(frame_of(0x1002, numbered(1)));
    net.turn_until([&] { return net.counts().blocked.value() == 1; });
    peer.send(frame_of(0x1002, numbered(2)));
    net.turn(3);
    // With something to do it would not wait; it waits its whole 20 ms.
    const auto start = std::chrono::steady_clock::now();
    net.worker->do_work(20ms);
    CHECK(std::chrono::steady_clock::now() - start >= 19ms);
    net.take();
    net.worker->do_work(1h);
    net.take();
    CHECK(net.payloads(link).size() == 3);
}

TEST_CASE(
    "B-1: a link that a full inbox keeps from being read is told as paused after a second, once, and resumed when "
    "it has been heard") {
    WorkerFixture net({.items = 2, .bytes = 1'000'000});
    auto [busy, busy_link] = net.join();
    auto [other, other_link] = net.join();
    auto [silent, silent_link] = net.join();
    net.seen.clear();
    net.loop_takes = false;
    busy.send(frame_of(0x1002, numbered(0)));
    net.turn_until([&] { return net.inbox(Port::servers).size() == 1; });
    busy.send(frame_of(0x1002, numbered(1)));
    net.turn_until([&] { return net.counts().blocked.value() == 1; });
    other.send(frame_of(0x1002, numbered(7)));
    net.turn(10);

    net.pass(990ms);
    CHECK(net.inbox(Port::servers).size() == 2);
    net.pass(5s);
    CHECK(net.inbox(Port::servers).size() == 3);
    net.loop_takes = true;
    net.take();
    REQUIRE(net.count(InboundKind::paused) == 1);
    CHECK(net.last(InboundKind::paused).item.connection == other_link);

    net.turn_until([&] { return net.count(InboundKind::resumed) == 1; });
    CHECK(net.payloads(other_link).size() == 1);
    CHECK(net.seen.back().item.kind == InboundKind::resumed);
    CHECK(net.seen.back().item.connection == other_link);
    net.pass(5s);
    CHECK(net.count(InboundKind::paused) == 1);
}

TEST_CASE("B-1, W-7: a link that is both kept waiting and over its rate is paused once and resumed once") {
    WorkerFixture net({.items = 50, .bytes = 1'000'000});
    net.change_limits(Port::servers, [](PortLimits& l) { l.messages_per_second = 10; });
    auto [peer, link] = net.join();
    auto [other, other_link] = net.join();
    net.seen.clear();
    net.loop_takes = false;
    Bytes burst;
    for (std::uint32_t i = 0; i < 100; ++i) burst += frame_of(0x1002, numbered(i));
    for (std::uint32_t i = 0; net.counts().blocked.value() == 0; ++i) {
        REQUIRE(i < 1'000);
        other.send(frame_of(0x1002, numbered(i)));
        net.clock.advance(200ms);
        net.turn(3);
    }
    peer.send(burst);
    net.turn(10);
    net.pass(3s);
    net.loop_takes = true;
    net.pass(9s);
    net.turn_until([&] { return net.payloads(link).size() == 100 && net.count(InboundKind::resumed, link) == 1; });
    CHECK(net.count(InboundKind::paused, link) == 1);
    CHECK(net.count(InboundKind::paused, other_link) == net.count(InboundKind::resumed, other_link));
    CHECK(net.counts().rate_limited.value() == 1);
}
