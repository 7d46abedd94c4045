// Peers that do anything at any time, and a loop that does the same to them: whatever happens, each link begins once,
// ends once, says what it said in order, and leaves nothing behind.
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "base/random.h"
#include "base/system_clock.h"
#include "net/net_fixture.h"
#include "net/network.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

// A peer with a mind of its own. Its frames are numbered, so that a lost or reordered one shows.
class WildPeer {
public:
    explicit WildPeer(const SocketAddress& to) : peer_(to) {}

    // False when it is done with this connection.
    bool act(Random& random) {
        peer_.receive();
        if (peer_.was_reset) return false;
        const auto choice = random.below(100);
        if (choice < 60) {
            for (std::uint64_t i = random.below(8) + 1; i > 0; --i)
                unsent_ += frame_of(0x1002, numbered(next_++, 4 + random.below(40)));
        } else if (choice < 63) {
            unsent_ += bytes_of({1, 0, 7, 7});
        } else if (choice < 66) {
            peer_.end_sending();
        } else if (choice < 69) {
            peer_.close();
            return false;
        } else if (choice < 72) {
            peer_.reset();
            return false;
        }
        // In pieces of any size.
        const std::size_t piece = random.chance(0.5) ? unsent_.size() : random.below(unsent_.size() + 1);
        const std::size_t sent = peer_.send_some(std::span(unsent_).first(piece));
        unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<std::ptrdiff_t>(sent));
        return true;
    }

private:
    Peer peer_;
    Bytes unsent_;
    std::uint32_t next_ = 0;
};

// Checks the life of every link, and answers at random.
class Judge {
public:
    void saw(const InboundItem& item, std::span<const std::byte> payload, Links& links, Random& random) {
        if (item.kind == InboundKind::opened) {
            REQUIRE(lives_.try_emplace(item.connection).second);
            workers.insert(ConnectionTable::worker_of(item.connection));
            if (random.chance(0.9)) links.greeted(item.connection);
            return;
        }
        const auto life = lives_.find(item.connection);
        REQUIRE(life != lives_.end());
        Life& link = life->second;
        REQUIRE_FALSE(link.closed);
        switch (item.kind) {
            case InboundKind::frame:
                REQUIRE_FALSE(link.faulty);
                REQUIRE(number_in(Bytes(payload.begin(), payload.end())) == link.next++);
                ++frames;
                if (random.chance(0.5)) links.send(item.connection, frame_of(0x1003, numbered(link.next)));
                if (random.chance(0.005)) links.close(item.connection);
                if (random.chance(0.005)) links.cut(item.connection);
                break;
            case InboundKind::malformed:
                link.faulty = true;
                links.send(item.connection, frame_of(0x1011));
                links.close(item.connection);
                break;
            case InboundKind::closed:
                link.closed = true;
                ++closed;
                break;
            default:
                links.close(item.connection);
        }
    }
    std::size_t opened() const { return lives_.size(); }

    std::size_t closed = 0;
    std::size_t frames = 0;
    std::set<std::size_t> workers;

private:
    struct Life {
        std::uint32_t next = 0;
        bool faulty = false;
        bool closed = false;
    };
    std::map<ConnectionId, Life> lives_;
};

}  // namespace

TEST_CASE("invariants 18 and 19: in any chaos each link opens and closes once, and its frames come in order") {
    for (const std::uint64_t seed : {1, 2, 3}) {
        CAPTURE(seed);
        WorkerFixture net({.items = 200, .bytes = 4'000});
        net.loop_takes = false;
        Random random(seed);
        Judge judge;
        std::vector<std::optional<WildPeer>> peers(24);
        const auto take = [&] {
            InboundBatch batch;
            net.inbox(Port::servers).take(batch);
            for (std::size_t i = 0; i < batch.size(); ++i)
                judge.saw(batch[i], batch.payload(batch[i]), *net.links, random);
        };
        for (int step = 0; step < 6'000; ++step) {
            auto& peer = peers[random.below(peers.size())];
            if (!peer) {
                peer.emplace(net.address(Port::servers));
            } else if (!peer->act(random)) {
                peer.reset();
            }
            if (random.chance(0.4)) net.turn();
            if (random.chance(0.3)) take();
            if (random.chance(0.05)) net.clock.advance(std::chrono::milliseconds(random.below(200)));
        }
        peers.clear();
        for (int i = 0; i < 2'000 && (net.counts().connections.value() > 0 || i < 10); ++i) {
            net.clock.advance(20ms);
            net.turn();
            take();
        }
        CHECK(judge.opened() == net.counts().accepted.value());
        CHECK(judge.closed == judge.opened());
        CHECK(judge.opened() > 100);
        CHECK(judge.frames > 1'000);
        CHECK(net.counts().connections.value() == 0);
        CHECK(net.budget.used() == 0);
    }
}

TEST_CASE("invariants 18 and 19: the same with two worker threads, a slow loop, and peers on a thread of their own") {
    const SystemClock clock;
    Wakeup wakeup(clock);
    NetworkConfig config;
    config.threads = 2;
    config.of(Port::servers).listen = SocketAddress::parse("127.0.0.1:0");
    config.of(Port::servers).inbox = {.items = 200, .bytes = 8'000};
    config.of(Port::servers).limits.messages_per_second = 0;
    config.of(Port::servers).limits.accepts_per_second_ip = 0;
    Network network(clock, wakeup, config);
    network.start();

    std::atomic<bool> peers_done{false};
    std::thread crowd([&] {
        Random random(77);
        std::vector<std::optional<WildPeer>> peers(24);
        for (int step = 0; step < 6'000; ++step) {
            auto& peer = peers[random.below(peers.size())];
            if (!peer) {
                peer.emplace(*network.bound(Port::servers));
            } else if (!peer->act(random)) {
                peer.reset();
            }
        }
        peers.clear();
        peers_done.store(true);
    });

    Random random(78);
    Judge judge;
    InboundBatch batch;
    const auto end = std::chrono::steady_clock::now() + 10min;  // a hang, not a slow machine
    while (std::chrono::steady_clock::now() < end) {
        const bool over = peers_done.load();
        wakeup.wait_until(clock.now() + 5ms);
        const bool some = network.inbox(Port::servers).take(batch);
        for (std::size_t i = 0; i < batch.size(); ++i)
            judge.saw(batch[i], batch.payload(batch[i]), network.links(), random);
        batch.clear();
        network.links().flush();
        if (random.chance(0.02)) network.catch_up();
        if (over && !some && judge.opened() == judge.closed &&
            network.figures().of(Port::servers).connections.value() == 0)
            break;
    }
    crowd.join();
    network.stop();
    CHECK(judge.opened() == network.figures().of(Port::servers).accepted.value());
    CHECK(judge.closed == judge.opened());
    CHECK(judge.opened() > 100);
    CHECK(judge.frames > 1'000);
    CHECK(judge.workers == std::set<std::size_t>{0, 1});
    CHECK(network.buffered_bytes() == 0);
}
