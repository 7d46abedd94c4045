// The game ports over all lives of the process: sockets stay open while a node stands by, owns the cell and loses
// it. Whoever serves them meanwhile, a game or a relay, takes what peers say from the network's inboxes.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "net/network.h"
#include "net/poller.h"
#include "relay/peer_book.h"
#include "runtime/wakeup.h"

namespace muster {

// Made by the main thread. One thread at a time serves the ports: the game's, or the relay's.
class GamePorts {
public:
    // Opens the ports; throws ListenError. With `keeps_peers` peers outlive who serves them. The clock outlives it.
    GamePorts(const Clock& clock, const NetworkConfig& config, bool keeps_peers)
        : keeps_peers_(keeps_peers), waiter_(clock), network_(clock, waiter_, config) {}

    Network& network() { return network_; }
    const Network& network() const { return network_; }
    PeerBook& book() { return book_; }
    bool keeps_peers() const { return keeps_peers_; }

    // Peers are let in from now on.
    void open() {
        if (!is_open_) network_.start();
        is_open_ = true;
    }

    // Which of the two is woken when peers did something.
    void wake_relay(bool relay) { waiter_.wakes_relay.store(relay, std::memory_order_release); }
    Poller& relay_poller() { return waiter_.poller; }

    // See RelayedLinks.
    std::uint32_t relayed_generation = 0;

private:
    struct SharedWaiter final : Waiter {
        explicit SharedWaiter(const Clock& clock) : wakeup(clock) {}
        void wait_until(std::optional<Time> deadline) override { wakeup.wait_until(deadline); }
        void notify() override {
            if (wakes_relay.load(std::memory_order_acquire))
                poller.wake();
            else
                wakeup.notify();
        }

        Wakeup wakeup;
        Poller poller;
        std::atomic<bool> wakes_relay{false};
    };

    const bool keeps_peers_;
    SharedWaiter waiter_;
    Network network_;
    PeerBook book_;
    bool is_open_ = false;
};

}  // namespace muster
