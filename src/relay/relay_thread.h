// The relay of a node at work: it serves the game ports by relaying to the owner of each cell.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/time.h"
#include "net/port_inbox.h"
#include "relay/cell_relays.h"
#include "relay/cell_routes.h"
#include "relay/game_ports.h"
#include "relay/owner_link.h"
#include "relay/peer_output.h"

namespace muster {

struct RelayOptions {
    std::vector<RoutedCell> cells{RoutedCell{}};
    OwnerLinkOptions link{};
};

// Made and ended by one thread; works on a thread of its own, `relay`, between the two. While it lives it serves the
// ports. What it is given outlives it.
class RelayThread {
public:
    RelayThread(const Clock& clock, Log& log, GamePorts& ports, RelayOptions options);
    ~RelayThread();
    RelayThread(const RelayThread&) = delete;
    RelayThread& operator=(const RelayThread&) = delete;

    // Any thread, all of them. As OwnerLink has it.
    void set_target(std::optional<RelayTarget> target, CellNumber cell = 0);
    void ask(std::string question, OwnerLink::OnAnswer answer, CellNumber cell = 0);
    // The owners of all cells have welcomed us, or that of one.
    bool is_linked() const;
    bool is_linked(CellNumber cell) const { return links_[cell].is_linked(); }
    // Peers that owners are told of.
    std::size_t relayed() const { return relayed_.load(std::memory_order_relaxed); }
    // What peers asked and nobody answered yet.
    std::size_t unanswered() const { return unanswered_.load(std::memory_order_relaxed); }

private:
    class ToLinks final : public PeerOutput {
    public:
        explicit ToLinks(Links& links) : links_(links) {}
        void send(ConnectionId to, std::span<const std::byte> frame) override { links_.send(to, frame); }
        void greeted(ConnectionId link) override { links_.greeted(link); }
        void report_drained(ConnectionId link) override { links_.report_drained(link); }
        void close(ConnectionId link) override { links_.close(link); }
        void cut(ConnectionId link) override { links_.cut(link); }
        ByteOrder order_of(Port port) const override { return links_.order_of(port); }

    private:
        Links& links_;
    };

    void run();
    void turn();
    void take_peers();

    const Clock& clock_;
    GamePorts& ports_;
    const OwnerLinkOptions options_;

    // Any thread.
    std::atomic<bool> stop_asked_{false};
    std::atomic<std::size_t> relayed_{0};
    std::atomic<std::size_t> unanswered_{0};

    // The thread's, but for what an OwnerLink lets any thread do.
    ToLinks to_links_;
    CellRelays relays_;
    std::deque<OwnerLink> links_;  // of each cell
    std::vector<std::vector<std::byte>*> to_owners_;
    InboundBatch batch_;

    std::thread thread_;  // last: it uses the others
};

}  // namespace muster
