// Peers that come and go on one port while others come on another: the loop takes one inbox per port, in an order of
// its own (fault 32).
#include <atomic>
#include <map>
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

// Who is open in which slot, by what the loop was told so far.
class Slots {
public:
    void saw(const InboundItem& item, Port port) {
        if (item.kind == InboundKind::opened) {
            ++opened;
            const auto [user, is_free] = users_.try_emplace(item.connection.slot, item.connection);
            if (!is_free) ++taken_twice;
            user->second = item.connection;
            const auto [of, is_new] = port_of_.try_emplace(item.connection.slot, port);
            if (!is_new && of->second != port) ++changed_port;
        } else if (item.kind == InboundKind::closed) {
            ++closed;
            const auto user = users_.find(item.connection.slot);
            if (user != users_.end() && user->second == item.connection) users_.erase(user);
        }
    }

    std::size_t opened = 0;
    std::size_t closed = 0;
    std::size_t taken_twice = 0;
    std::size_t changed_port = 0;

private:
    std::map<std::uint32_t, ConnectionId> users_;
    std::map<std::uint32_t, Port> port_of_;
};

}  // namespace

TEST_CASE("fault 32: no slot is opened again before its last user's end was told, whatever port the loop favours") {
    const SystemClock clock;
    Wakeup wakeup(clock);
    NetworkConfig config;
    config.threads = 2;
    for (const Port port : ports) {
        config.of(port).listen = SocketAddress::parse("127.0.0.1:0");
        config.of(port).limits.accepts_per_second_ip = 0;
    }
    Network network(clock, wakeup, config);
    network.start();

    std::atomic<int> busy{0};
    std::vector<std::thread> crowd;
    for (const Port port : ports) {
        ++busy;
        crowd.emplace_back([&, port] {
            Random random(static_cast<std::uint64_t>(port) + 1);
            for (int i = 0; i < 1'500; ++i) {
                Peer peer(*network.bound(port));
                if (random.chance(0.7)) peer.reset();
            }
            --busy;
        });
    }

    Slots slots;
    InboundBatch batch;
    const auto take = [&](Port port) {
        network.inbox(port).take(batch);
        for (std::size_t i = 0; i < batch.size(); ++i) slots.saw(batch[i], port);
        batch.clear();
    };
    const auto end = std::chrono::steady_clock::now() + 10min;  // a hang, not a slow machine
    for (int pass = 0; std::chrono::steady_clock::now() < end; ++pass) {
        const bool over = busy.load() == 0;
        wakeup.wait_until(clock.now() + 1ms);
        take(Port::servers);
        if (pass % 3 == 0) take(Port::matchmakers);
        if (pass % 10 == 0) take(Port::players);
        if (over && slots.opened == 4'500 && slots.closed == slots.opened) break;
    }
    for (std::thread& peers : crowd) peers.join();
    CHECK(slots.opened == 4'500);
    CHECK(slots.closed == slots.opened);
    CHECK(slots.taken_twice == 0);
    CHECK(slots.changed_port == 0);
}
