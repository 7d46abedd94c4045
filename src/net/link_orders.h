// Carries out the loop's orders for a worker's connections: one send call per connection, however many frames it gets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "net/held_links.h"
#include "net/link_keeper.h"
#include "net/net_figures.h"
#include "net/outbox.h"
#include "net/worker_port.h"

namespace muster {

// The worker's thread only. What it is given outlives it.
class LinkOrders {
public:
    LinkOrders(LinkKeeper& links, NetFigures& figures) : links_(links), figures_(figures) {}

    // All that waits in the outbox. False when there was no memory to do so: it stays for the next call.
    bool obey(Outbox& outbox, const TurnTime& at);

    // A turn begins: what was held leaves, if it is time.
    void let_held_go(const TurnTime& at);
    // When a turn is wanted for that.
    std::optional<Time> held_until() const { return held_.due(); }

private:
    // What a link is sent.
    struct Frames {
        std::span<const std::byte> bytes;
        bool hurried = false;  // some of it leaves at once, and so does the rest
        std::optional<OutboundAction> close{};
    };

    void chain_by_link();
    void obey(Connection& link, const TurnTime& at);
    Frames frames_for(Connection& link);
    void add(std::span<const std::byte>& bytes, std::span<const std::byte> frame);
    WriteOutcome write(Connection& link, const Frames& frames, const TurnTime& at);

    LinkKeeper& links_;
    NetFigures& figures_;
    OutboundBatch orders_;
    std::uint64_t number_ = 0;            // of the batch
    std::vector<std::uint32_t> next_;     // the next entry for the same connection
    std::vector<Connection*> addressed_;  // none of them ends while another is obeyed
    std::vector<std::byte> joined_;
    std::vector<std::byte> sealed_;  // what they are where there is TLS
    HeldLinks held_;
    std::vector<ConnectionId> let_go_;
};

}  // namespace muster
