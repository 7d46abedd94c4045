#include "relay/cell_relays.h"

#include <utility>

namespace muster {

CellRelays::CellRelays(CellRoutes routes, PeerBook& book, PeerOutput& peers)
    : routes_(std::move(routes)), peers_(peers), fan_(routes_, peers) {
    if (routes_.size() == 1) {
        cells_.emplace_back(*this, book);
        return;
    }
    for (CellNumber cell = 0; cell < routes_.size(); ++cell) cells_.emplace_back(*this, cell);
}

std::size_t CellRelays::unanswered() const {
    std::size_t count = 0;
    for (const Cell& cell : cells_) count += cell.book.unanswered();
    return count;
}

void CellRelays::owner_found(CellNumber cell, std::vector<std::byte>& to_owner) {
    fan_.owner_found(cell);
    cells_[cell].relay.owner_found(to_owner);
}

void CellRelays::owner_lost(CellNumber cell) {
    if (!has_owner(cell)) return;
    cells_[cell].relay.owner_lost();
    fan_.owner_lost(cell);
}

bool CellRelays::may_take() const {
    bool has_any = false;
    for (const Cell& cell : cells_) {
        has_any |= cell.relay.has_owner();
        if (!cell.relay.has_owner() && cell.book.unanswered() >= waiting_max) return false;
    }
    return has_any;
}

void CellRelays::take(const InboundBatch& batch, Port port, ToOwners to_owners) {
    if (cells_.size() == 1) return cells_.front().relay.take(batch, port, out_of(0, to_owners));
    for (std::size_t i = 0; i < batch.size(); ++i) {
        if (port == Port::matchmakers)
            take_matchmaker(batch, batch[i], to_owners);
        else
            take_placed(batch, batch[i], port, to_owners);
    }
}

void CellRelays::take_placed(const InboundBatch& batch, const InboundItem& item, Port port, ToOwners to_owners) {
    const ConnectionId id = item.connection;
    if (item.kind == InboundKind::opened) {
        placed_[id] = {std::nullopt, batch.address(item), std::string(batch.name(item)), false};
        return;
    }
    const auto found = placed_.find(id);
    if (found == placed_.end()) return;
    Placed& peer = found->second;
    const bool speaks =
        item.kind == InboundKind::frame || item.kind == InboundKind::malformed || item.kind == InboundKind::gave_up;
    if (!peer.cell && speaks) {
        peer.cell = item.kind == InboundKind::frame
                        ? routes_.of_first_frame(port, item.code, batch.payload(item), peers_.order_of(port))
                        : routes_.first_of(port);
        cells_[*peer.cell].relay.opened({id, port, peer.address, peer.name}, peer.is_paused,
                                        out_of(*peer.cell, to_owners));
        // Its book has them.
        peer.name = {};
    }
    if (peer.cell) tell(*peer.cell, batch, item, port, to_owners);
    if (item.kind == InboundKind::paused || item.kind == InboundKind::resumed)
        peer.is_paused = item.kind == InboundKind::paused;
    if (item.kind == InboundKind::closed) placed_.erase(found);
}

void CellRelays::take_matchmaker(const InboundBatch& batch, const InboundItem& item, ToOwners to_owners) {
    const ConnectionId id = item.connection;
    const auto tell_all = [&] {
        for (const CellNumber cell : routes_.with_regions()) tell(cell, batch, item, Port::matchmakers, to_owners);
    };
    using To = MatchmakerRoute::To;
    switch (item.kind) {
        case InboundKind::opened:
            fan_.opened(id);
            return tell_all();
        case InboundKind::closed:
            fan_.closed(id);
            return tell_all();
        case InboundKind::frame: {
            const auto payload = batch.payload(item);
            MatchmakerRoute route = routes_.of_matchmaker_frame(item.code, payload, peers_.order_of(Port::matchmakers));
            if (route.to == To::all && !fan_.asked_all(id, item.code, payload)) route.to = To::any;
            if (route.to == To::all) return tell_all();
            return tell(route.to == To::cell ? route.cell : spokesman(), batch, item, Port::matchmakers, to_owners);
        }
        case InboundKind::malformed:
        case InboundKind::gave_up:
            // One refusal is enough.
            return tell(spokesman(), batch, item, Port::matchmakers, to_owners);
        case InboundKind::paused:
        case InboundKind::resumed:
        case InboundKind::drained:
            return tell_all();
    }
}

void CellRelays::tell(CellNumber cell, const InboundBatch& batch, const InboundItem& item, Port port,
                      ToOwners to_owners) {
    cells_[cell].relay.take(batch, item, port, out_of(cell, to_owners));
}

CellNumber CellRelays::spokesman() const {
    for (const CellNumber cell : routes_.with_regions())
        if (has_owner(cell)) return cell;
    return routes_.with_regions().front();
}

std::vector<std::byte>& CellRelays::out_of(CellNumber cell, ToOwners to_owners) {
    nowhere_.clear();
    return to_owners[cell] ? *to_owners[cell] : nowhere_;
}

bool CellRelays::heard(CellNumber cell, NodeKind kind, std::span<const std::byte> body) {
    return cells_[cell].relay.heard(kind, body);
}

void CellRelays::flushed() {
    for (Cell& cell : cells_) cell.book.flushed();
}

void CellRelays::discarded() {
    for (Cell& cell : cells_) cell.book.discarded();
}

void CellRelays::Output::send(ConnectionId to, std::span<const std::byte> frame) {
    if (relays_.fan_.knows(to)) return relays_.fan_.send(cell_, to, frame);
    relays_.peers_.send(to, frame);
}

void CellRelays::Output::report_drained(ConnectionId link) {
    if (relays_.fan_.knows(link)) return relays_.fan_.report_drained(link);
    relays_.peers_.report_drained(link);
}

}  // namespace muster
