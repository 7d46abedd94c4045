#include "relay/relayed_links.h"

#include <optional>

#include "base/check.h"
#include "protocol/link_fault.h"
#include "protocol/wire_error.h"

namespace muster {
namespace {

std::optional<InboundKind> inbound_of(NodeKind kind) {
    switch (kind) {
        case NodeKind::malformed:
            return InboundKind::malformed;
        case NodeKind::gave_up:
            return InboundKind::gave_up;
        case NodeKind::paused:
            return InboundKind::paused;
        case NodeKind::resumed:
            return InboundKind::resumed;
        case NodeKind::drained:
            return InboundKind::drained;
        case NodeKind::closed:
            return InboundKind::closed;
        default:
            return std::nullopt;
    }
}

// Another version of Muster may know more of them.
bool is_known_detail(NodeKind kind, std::uint8_t detail) {
    if (kind == NodeKind::malformed) return detail < wire_errors.size();
    if (kind == NodeKind::gave_up) return detail < link_faults.size();
    return true;
}

}  // namespace

bool RelayedLinks::heard(NodeLinkNumber from, NodeKind kind, std::span<const std::byte> body, Time now,
                         Batches& batches) {
    if (kind == NodeKind::opened) {
        const auto peer = read_node_peer(body);
        return peer && open(from, *peer, now, batches);
    }
    if (kind == NodeKind::frame) {
        const auto frame = read_node_frame(body);
        if (!frame) return false;
        const auto found = by_peer_.find({from, frame->peer});
        if (found == by_peer_.end()) return false;
        batches[static_cast<std::size_t>(slots_[found->second].port)].add_frame(
            name_of(found->second), now, frame->code, frame->payload, frame->rtt_us);
        return true;
    }
    const auto inbound = inbound_of(kind);
    const auto report = read_node_report(body);
    if (!inbound || !report || !is_known_detail(kind, report->detail)) return false;
    const auto found = by_peer_.find({from, report->peer});
    if (found == by_peer_.end()) return false;
    const std::uint32_t index = found->second;
    if (kind == NodeKind::closed) {
        close(index, CloseReason::peer_closed, now, batches);
        return true;
    }
    batches[static_cast<std::size_t>(slots_[index].port)].add(*inbound, name_of(index), now, report->detail);
    return true;
}

void RelayedLinks::lost(NodeLinkNumber link, Time now, Batches& batches) {
    const auto first = by_peer_.lower_bound({link, {}});
    std::vector<std::uint32_t> its;
    for (auto found = first; found != by_peer_.end() && found->first.link == link; ++found)
        its.push_back(found->second);
    for (const std::uint32_t index : its) close(index, CloseReason::peer_reset, now, batches);
}

bool RelayedLinks::open(NodeLinkNumber from, const NodePeer& peer, Time now, Batches& batches) {
    if (size_ >= peers_max || by_peer_.contains({from, peer.id})) return false;
    auto& free = free_[static_cast<std::size_t>(peer.port)];
    if (free.empty()) {
        slots_.emplace_back().port = peer.port;
        free.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
    }
    const std::uint32_t index = free.back();
    const ConnectionId name{first_slot_ | index, generation_ + 1};
    batches[static_cast<std::size_t>(peer.port)].add_opened(name, now, peer.address, peer.name);
    free.pop_back();
    slots_[index] = {from, peer.id, ++generation_, peer.port};
    by_peer_.emplace(Key{from, peer.id}, index);
    ++size_;
    return true;
}

void RelayedLinks::close(std::uint32_t index, CloseReason reason, Time now, Batches& batches) {
    Slot& slot = slots_[index];
    batches[static_cast<std::size_t>(slot.port)].add(InboundKind::closed, name_of(index), now,
                                                     static_cast<std::uint8_t>(reason));
    by_peer_.erase({slot.link, slot.peer});
    free_[static_cast<std::size_t>(slot.port)].push_back(index);
    slot.generation = 0;
    --size_;
}

const RelayedLinks::Slot* RelayedLinks::find(ConnectionId id) const {
    const std::uint32_t index = id.slot - first_slot_;
    if (index >= slots_.size() || id.generation == 0 || slots_[index].generation != id.generation) return nullptr;
    return &slots_[index];
}

std::size_t RelayedLinks::last_of_same(const OutboundBatch& orders, std::size_t first, NodeLinkNumber link) {
    together_.clear();
    const OutboundEntry& model = orders.entries[first];
    std::size_t last = first;
    for (std::size_t i = first; i < orders.entries.size(); ++i) {
        const OutboundEntry& order = orders.entries[i];
        const bool is_same =
            order.action == OutboundAction::send && order.offset == model.offset && order.length == model.length;
        if (!is_same) break;
        const Slot* slot = find(order.connection);
        if (slot && slot->link != link) break;
        if (slot) together_.push_back(slot->peer);
        last = i;
    }
    return last;
}

NodeKind RelayedLinks::kind_of(OutboundAction action) {
    switch (action) {
        case OutboundAction::greeted:
            return NodeKind::greeted;
        case OutboundAction::report_drained:
            return NodeKind::report_drained;
        case OutboundAction::close_after_flush:
            return NodeKind::close;
        case OutboundAction::send:
        case OutboundAction::send_soon:  // goes to a worker with sockets only
        case OutboundAction::cut:
            break;
    }
    return NodeKind::cut;
}

}  // namespace muster
