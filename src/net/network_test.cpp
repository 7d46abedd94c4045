#include "net/network.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "base/system_clock.h"
#include "net/net_fixture.h"
#include "net/net_source.h"
#include "runtime/game_loop.h"
#include "runtime/loop_fixture.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

NetworkConfig config_with(std::size_t threads, const std::string& host = "127.0.0.1") {
    NetworkConfig config;
    config.threads = threads;
    for (const Port port : ports) config.of(port).listen = SocketAddress::parse(host + ":0");
    return config;
}

// Answers each frame with the same frame.
class Echo {
public:
    explicit Echo(Links& links) : links_(links) {}

    void opened(const Pass&, ConnectionId link, Port, const IpAddress& from, std::string_view) {
        last_from = from;
        ++open;
        links_.greeted(link);
    }
    void frame(const Pass&, ConnectionId link, const PeerFrame& frame) {
        if (frame.code == 0xDEAD) throw std::runtime_error("a handler's fault");
        links_.send(link, frame_of(frame.code, Bytes(frame.payload.begin(), frame.payload.end())));
    }
    void malformed(const Pass&, ConnectionId link, WireError) { links_.close(link); }
    void gave_up(const Pass&, ConnectionId link, LinkFault) { links_.close(link); }
    void paused(const Pass&, ConnectionId) {}
    void resumed(const Pass&, ConnectionId) {}
    void drained(ConnectionId) {}
    void closed(const Pass&, ConnectionId) { --open; }
    void handler_failed(const Pass&, ConnectionId link) { links_.cut(link); }

    IpAddress last_from;
    int open = 0;

private:
    Links& links_;
};

// A network and a loop as the daemon runs them, on a thread of their own.
class EchoServer {
public:
    explicit EchoServer(const NetworkConfig& config)
        : wakeup_(clock_),
          network(clock_, wakeup_, config),
          echo(network.links()),
          log_(clock_, lines_),
          loop_(clock_, log_) {
        for (const Port port : ports)
            sources_.push_back(std::make_unique<NetSource<Echo, Network>>(network, port, echo));
        for (const auto& source : sources_) loop_.add_source(*source);
        loop_.on_flush([this](const Pass&) { network.links().flush(); });
        network.start();
        thread_ = std::thread([this] { loop_.run(network.waiter()); });
    }
    ~EchoServer() { stop(); }

    void stop() {
        if (!thread_.joinable()) return;
        loop_.stop();
        thread_.join();
        network.stop();
    }

private:
    SystemClock clock_;
    Wakeup wakeup_;

public:
    Network network;
    Echo echo;

private:
    KeptLines lines_;
    Log log_;
    GameLoop loop_;
    std::vector<std::unique_ptr<NetSource<Echo, Network>>> sources_;
    std::thread thread_;
};

Bytes receive_for(Peer& peer, std::size_t bytes, std::chrono::seconds patience = 10s) {
    Bytes all;
    const auto end = std::chrono::steady_clock::now() + patience;
    while (all.size() < bytes && !peer.ended && !peer.was_reset && std::chrono::steady_clock::now() < end) {
        pollfd waited{peer.number(), POLLIN, 0};
        poll(&waited, 1, 10);
        all += peer.receive();
    }
    return all;
}

}  // namespace

TEST_CASE("B-1: frames go to the loop and answers come back, on every port and with any number of threads") {
    for (const std::size_t threads : {0, 1, 3}) {
        CAPTURE(threads);
        EchoServer server(config_with(threads));
        std::vector<Peer> peers;
        for (int i = 0; i < 6; ++i)
            peers.emplace_back(*server.network.bound(i % 2 == 0 ? Port::servers : Port::matchmakers));
        for (int round = 0; round < 20; ++round) {
            for (Peer& peer : peers) peer.send(frame_of(0x1002, numbered(static_cast<std::uint32_t>(round), 16)));
            for (Peer& peer : peers)
                CHECK(receive_for(peer, 20) == frame_of(0x1002, numbered(static_cast<std::uint32_t>(round), 16)));
        }
        peers.clear();
        server.stop();
        CHECK(server.network.figures().of(Port::servers).frames_in.value() == 60);
        CHECK(server.network.figures().of(Port::matchmakers).frames_out.value() == 60);
    }
}

TEST_CASE("IPv6 peers are served and known by their address") {
    EchoServer server(config_with(1, "[::1]"));
    Peer peer(*server.network.bound(Port::servers));
    peer.send(frame_of(0x1002, numbered(1)));
    CHECK(receive_for(peer, 8) == frame_of(0x1002, numbered(1)));
    peer.close();
    server.stop();
    CHECK(server.echo.last_from == *IpAddress::parse("::1"));
}

TEST_CASE("fault 13: a handler that throws loses its own link only") {
    EchoServer server(config_with(1));
    Peer bad(*server.network.bound(Port::servers));
    Peer good(*server.network.bound(Port::servers));
    bad.send(frame_of(0xDEAD));
    CHECK(receive_for(bad, 1).empty());
    CHECK((bad.ended || bad.was_reset));
    good.send(frame_of(0x1002));
    CHECK(receive_for(good, 4) == frame_of(0x1002));
}

TEST_CASE("X-3: a stop ends every link and all threads within two seconds, whatever peers do") {
    const auto stop_takes = [](std::size_t threads) {
        EchoServer server(config_with(threads));
        std::vector<Peer> peers;
        for (int i = 0; i < 4; ++i) peers.emplace_back(*server.network.bound(Port::players));
        for (Peer& peer : peers) peer.send(bytes_of({0, 2, 0, 9}));
        for (Peer& peer : peers) CHECK(receive_for(peer, 4).size() == 4);
        const auto start = std::chrono::steady_clock::now();
        server.stop();
        const Duration took = std::chrono::steady_clock::now() - start;
        CHECK(server.network.figures().of(Port::players).connections.value() == 0);
        CHECK(server.network.figures().of(Port::players).closed[CloseReason::shutdown].value() == 4);
        for (Peer& peer : peers) {
            receive_for(peer, 1);
            CHECK((peer.ended || peer.was_reset));
        }
        return took;
    };
    for (const std::size_t threads : {0, 2}) {
        CAPTURE(threads);
        // The quickest of some: a machine that stalls only adds to it.
        Duration quickest = stop_takes(threads);
        for (int again = 0; again < 5 && quickest >= 2s; ++again) quickest = std::min(quickest, stop_takes(threads));
        CHECK(quickest < 2s);
    }
}

TEST_CASE("L-8: catching up brings in what lies in the sockets, before it returns") {
    const SystemClock clock;
    CountingWaiter waiter;
    for (const std::size_t threads : {0, 2}) {
        CAPTURE(threads);
        Network network(clock, waiter, config_with(threads));
        network.start();
        std::vector<Peer> peers;
        for (int i = 0; i < 10; ++i) {
            peers.emplace_back(*network.bound(Port::servers));
            peers.back().send(frame_of(0x1002));
        }
        // Newcomers are handed to their workers first, which takes a turn of its own.
        std::size_t frames = 0;
        for (int attempt = 0; attempt < 100 && frames < 10; ++attempt) {
            network.catch_up();
            InboundBatch batch;
            network.inbox(Port::servers).take(batch);
            for (std::size_t i = 0; i < batch.size(); ++i) frames += batch[i].kind == InboundKind::frame ? 1 : 0;
        }
        CHECK(frames == 10);
        for (int round = 0; round < 50; ++round) {
            for (Peer& peer : peers) peer.send(frame_of(0x1002));
            network.catch_up();
            InboundBatch batch;
            network.inbox(Port::servers).take(batch);
            CHECK(batch.size() == 10);
        }
    }
}

TEST_CASE("a network that cannot listen says where, and leaves nothing behind") {
    const SystemClock clock;
    CountingWaiter waiter;
    const Network first(clock, waiter, config_with(1));
    NetworkConfig second = config_with(1);
    second.of(Port::players).listen = first.bound(Port::players);
    CHECK_THROWS_WITH_AS(
        Network(clock, waiter, second),
        ("cannot listen on " + first.bound(Port::players)->to_string() + " (players): Address already in use").c_str(),
        ListenError);
}

TEST_CASE("a port without an address stays shut") {
    const SystemClock clock;
    CountingWaiter waiter;
    NetworkConfig config = config_with(1);
    config.of(Port::matchmakers).listen.reset();
    const Network network(clock, waiter, config);
    CHECK_FALSE(network.bound(Port::matchmakers));
    CHECK(network.bound(Port::servers)->port != 0);
}

TEST_CASE("newcomers wait for the start, also where the loop's own wait does the work") {
    const SystemClock clock;
    CountingWaiter waiter;
    Network network(clock, waiter, config_with(0));
    Peer early(*network.bound(Port::servers));
    early.send(frame_of(0x1002));
    for (int i = 0; i < 3; ++i) network.waiter().wait_until(clock.now() + 1ms);
    CHECK(network.inbox(Port::servers).size() == 0);
    network.start();
    for (int i = 0; i < 1'000 && network.inbox(Port::servers).size() < 2; ++i)
        network.waiter().wait_until(clock.now() + 1ms);
    CHECK(network.inbox(Port::servers).size() == 2);
}

TEST_CASE("L-3: an idle network without threads waits in the kernel and wakes for a word from another thread") {
    const SystemClock clock;
    CountingWaiter waiter;
    Network network(clock, waiter, config_with(0));
    network.start();
    std::thread other([&] { network.waiter().notify(); });
    network.waiter().wait_until(std::nullopt);
    other.join();
    CHECK(waiter.notified == 0);
}

TEST_CASE("L-3: without threads an answer leaves when it is flushed, and what follows from it ends the next wait") {
    const SystemClock clock;
    CountingWaiter waiter;
    Network network(clock, waiter, config_with(0));
    network.start();
    Peer peer(*network.bound(Port::servers));
    peer.send(frame_of(0x1002));
    InboundBatch heard;
    for (int i = 0; i < 1'000 && network.inbox(Port::servers).size() < 2; ++i)
        network.waiter().wait_until(clock.now() + 1ms);
    REQUIRE(network.inbox(Port::servers).take(heard));
    const ConnectionId link = heard[0].connection;

    network.links().send(link, frame_of(0x1002));
    network.links().flush();
    CHECK(receive_for(peer, 4) == frame_of(0x1002));
    CHECK(network.figures().of(Port::servers).frames_out.value() == 1);

    // The end of a link is told at the flush, and the loop hears of it without another event.
    network.links().cut(link);
    network.links().flush();
    CHECK(network.inbox(Port::servers).size() == 1);
    const Time before = clock.now();
    network.waiter().wait_until(before + 10s);
    CHECK(clock.now() - before < 5s);
}

TEST_CASE("L-8, fault 11: catching up without threads reads all sockets, however many have something") {
    constexpr std::size_t count = Poller::events_max + 100;
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    const rlim_t before = files.rlim_cur;
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 4 * count);
    if (files.rlim_cur < 3 * count) return;  // the machine does not allow so many
    setrlimit(RLIMIT_NOFILE, &files);
    {
        const SystemClock clock;
        CountingWaiter waiter;
        NetworkConfig config = config_with(0);
        config.of(Port::servers).limits.connections_per_ip = 2 * count;
        config.of(Port::servers).limits.accepts_per_second_ip = 2 * count;
        Network network(clock, waiter, config);
        network.start();
        std::vector<Peer> peers;
        for (std::size_t i = 0; i < count; ++i) {
            peers.emplace_back(*network.bound(Port::servers));
            if (i % 100 == 99) network.waiter().wait_until(clock.now() + 1ms);
        }
        for (int i = 0; i < 1'000 && network.inbox(Port::servers).size() < count; ++i)
            network.waiter().wait_until(clock.now() + 1ms);
        InboundBatch opened;
        REQUIRE(network.inbox(Port::servers).take(opened));
        REQUIRE(opened.size() == count);
        for (Peer& peer : peers) peer.send(frame_of(0x1002));
        network.catch_up();
        CHECK(network.inbox(Port::servers).size() == count);
    }
    files.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &files);
}
