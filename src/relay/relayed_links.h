// The peers of other nodes, as links of the owner's loop: what a node tells of them becomes what the network's
// workers would tell of their own, and what the loop has for them goes back to the node that has the socket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "net/outbox.h"
#include "net/port_inbox.h"
#include "protocol/port.h"
#include "relay/node_message.h"

namespace muster {

// The number of a node link, for as long as it lasts.
using NodeLinkNumber = Id<struct NodeLinkTag, std::uint32_t>;

// One thread. No I/O.
//
// A slot is used again only by its own port, so that the end of one link and the beginning of the next go through one
// inbox, in this order.
class RelayedLinks {
public:
    // Of all nodes together.
    static constexpr std::size_t peers_max = std::size_t{1} << 20;

    using Batches = std::array<InboundBatch, ports.size()>;

    // `worker` is the number of the worker in the links' names. Generations begin above `generation_before`, so that
    // what was said of links of an earlier term means none of this one.
    RelayedLinks(std::size_t worker, std::uint32_t generation_before)
        : first_slot_(static_cast<std::uint32_t>(worker) << index_bits), generation_(generation_before) {}

    std::size_t size() const { return size_; }
    std::uint32_t generation() const { return generation_; }

    // What a node said of a peer, in the order it came. False when a node does not say such a thing: its link is then
    // to be closed. Throws std::bad_alloc.
    [[nodiscard]] bool heard(NodeLinkNumber from, NodeKind kind, std::span<const std::byte> body, Time now,
                             Batches& batches);

    // The node link is gone, and its peers with it.
    void lost(NodeLinkNumber link, Time now, Batches& batches);

    // Appends what the loop has for the peers to what each node is to be sent: out(link) gives the bytes, or null when
    // the link is gone.
    template <class Out>
    void obey(const OutboundBatch& orders, Out out) {
        for (std::size_t i = 0; i < orders.entries.size(); ++i) {
            const OutboundEntry& order = orders.entries[i];
            const Slot* slot = find(order.connection);
            if (!slot) continue;
            std::vector<std::byte>* bytes = out(slot->link);
            if (!bytes) continue;
            if (order.action != OutboundAction::send) {
                NodeWriter(*bytes).report(kind_of(order.action), slot->peer);
                continue;
            }
            i = last_of_same(orders, i, slot->link);
            if (together_.size() == 1)
                NodeWriter(*bytes).send(slot->peer, orders.frame(order));
            else
                NodeWriter(*bytes).send_to_all(together_, orders.frame(order));
        }
    }

private:
    static constexpr std::uint32_t index_bits = 24;

    struct Slot {
        NodeLinkNumber link{};
        ConnectionId peer{};           // as the node calls it
        std::uint32_t generation = 0;  // 0: free
        Port port = Port::servers;
    };
    struct Key {
        NodeLinkNumber link{};
        ConnectionId peer{};
        friend auto operator<=>(const Key&, const Key&) = default;
    };

    static NodeKind kind_of(OutboundAction action);
    bool open(NodeLinkNumber from, const NodePeer& peer, Time now, Batches& batches);
    void close(std::uint32_t index, CloseReason reason, Time now, Batches& batches);
    const Slot* find(ConnectionId id) const;
    ConnectionId name_of(std::uint32_t index) const { return {first_slot_ | index, slots_[index].generation}; }
    // Collects the peers of one link that get one and the same frame, and returns the last entry of them.
    std::size_t last_of_same(const OutboundBatch& orders, std::size_t first, NodeLinkNumber link);

    const std::uint32_t first_slot_;
    std::uint32_t generation_;
    std::vector<Slot> slots_;
    std::array<std::vector<std::uint32_t>, ports.size()> free_;
    std::map<Key, std::uint32_t> by_peer_;  // the index of its slot
    std::size_t size_ = 0;
    std::vector<ConnectionId> together_;
};

}  // namespace muster
