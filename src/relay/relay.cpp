#include "relay/relay.h"

#include "protocol/frame_reader.h"

namespace muster {

Relay::Relay(PeerBook& book, PeerOutput& peers) : book_(book), peers_(peers) {
    owner_lost();
}

void Relay::owner_found(std::vector<std::byte>& to_owner) {
    has_owner_ = true;
    NodeWriter writer(to_owner);
    book_.for_each_to_tell([&](PeerBook::Peer& peer) { tell(peer, writer); });
}

void Relay::owner_lost() {
    has_owner_ = false;
    book_.flushed();  // what was passed to a peer leaves, though its owner is gone
    book_.owner_lost([this](ConnectionId id) { peers_.close(id); });
}

void Relay::tell(PeerBook::Peer& peer, NodeWriter& to_owner) {
    peer.is_told = true;
    to_owner.opened({peer.id, peer.port, peer.address, peer.name});
    if (peer.state != PeerBook::Peer::State::fresh) to_owner.frame({peer.id, 0, peer.hello.code, peer.hello.payload});
    for (const PeerBook::Peer::Request& request : peer.unanswered)
        to_owner.frame({peer.id, 0, request.code, request.payload});
    if (peer.is_paused) to_owner.report(NodeKind::paused, peer.id);
}

void Relay::take(const InboundBatch& batch, Port port, std::vector<std::byte>& to_owner) {
    for (std::size_t i = 0; i < batch.size(); ++i) take(batch, batch[i], port, to_owner);
}

void Relay::opened(const NodePeer& peer, bool is_paused, std::vector<std::byte>& to_owner) {
    book_.opened(peer.id, peer.port, peer.address, peer.name);
    PeerBook::Peer& known = *book_.find(peer.id);
    known.is_paused = is_paused;
    NodeWriter writer(to_owner);
    if (has_owner_) tell(known, writer);
}

void Relay::take(const InboundBatch& batch, const InboundItem& item, Port port, std::vector<std::byte>& to_owner) {
    const ConnectionId id = item.connection;
    if (item.kind == InboundKind::opened)
        return opened({id, port, batch.address(item), batch.name(item)}, false, to_owner);
    // One that no owner was told of: it was relayed to us, or is being closed.
    PeerBook::Peer* peer = book_.find(id);
    if (!peer) return;
    const bool is_told = peer->is_told;
    NodeWriter writer(to_owner);
    switch (item.kind) {
        case InboundKind::closed:
            if (is_told) writer.report(NodeKind::closed, id);
            return book_.closed(id);
        case InboundKind::frame:
            book_.heard(*peer, item.code, batch.payload(item));
            if (is_told) return writer.frame({id, item.rtt_us, item.code, batch.payload(item)});
            if (peer->unanswered.size() >= PeerBook::unanswered_max) end(*peer);
            return;
        case InboundKind::malformed:
            if (!is_told) return end(*peer);
            peer->is_ending = true;
            return writer.report(NodeKind::malformed, id, item.detail);
        case InboundKind::gave_up:
            return gave_up(*peer, item, writer);
        case InboundKind::paused:
        case InboundKind::resumed:
            peer->is_paused = item.kind == InboundKind::paused;
            if (is_told) writer.report(peer->is_paused ? NodeKind::paused : NodeKind::resumed, id);
            return;
        case InboundKind::drained:
            if (!peer->wants_drained) return;
            peer->wants_drained = false;
            return writer.report(NodeKind::drained, id);
        case InboundKind::opened:
            break;
    }
}

void Relay::gave_up(PeerBook::Peer& peer, const InboundItem& item, NodeWriter& to_owner) {
    // A missed handshake deadline may cross the handshake's acceptance; then the peer goes on.
    const bool may_go_on = item.fault() == LinkFault::handshake_deadline;
    if (peer.is_told) {
        peer.is_ending = !may_go_on;
        return to_owner.report(NodeKind::gave_up, peer.id, item.detail);
    }
    // Its handshake waits for an owner, who accepts it late.
    if (may_go_on && peer.state != PeerBook::Peer::State::fresh) return;
    end(peer);
}

bool Relay::heard(NodeKind kind, std::span<const std::byte> body) {
    if (kind == NodeKind::send) {
        const auto send = read_node_send(body);
        if (!send) return false;
        pass(send->peer, send->frame);
        return true;
    }
    if (kind == NodeKind::send_to_all) {
        const auto send = read_node_send_to_all(body);
        if (!send) return false;
        for (const ConnectionId peer : send->peers) pass(peer, send->frame);
        return true;
    }
    const auto report = read_node_report(body);
    if (!report) return false;
    PeerBook::Peer* peer = book_.find(report->peer);
    switch (kind) {
        case NodeKind::greeted:
            if (peer) peers_.greeted(peer->id);
            return true;
        case NodeKind::report_drained:
            if (!peer) return true;
            peer->wants_drained = true;
            peers_.report_drained(peer->id);
            return true;
        case NodeKind::close:
            if (peer) end(*peer);
            return true;
        case NodeKind::cut:
            if (!peer) return true;
            peer->is_ending = peer->is_closing = true;
            peers_.cut(peer->id);
            return true;
        default:
            return false;
    }
}

void Relay::pass(ConnectionId to, std::span<const std::byte> frame) {
    PeerBook::Peer* peer = book_.find(to);
    if (!peer || frame.size() < frame_head_size) return;
    switch (book_.told(*peer, frame, peers_.order_of(peer->port))) {
        case PeerBook::Passing::pass:
            return peers_.send(to, frame);
        case PeerBook::Passing::swallow:
            return;
        case PeerBook::Passing::amend:
            return peers_.send(to, book_.amended());
        case PeerBook::Passing::close:
            return end(*peer);
    }
}

// The owner hears of its end as of any other's.
void Relay::end(PeerBook::Peer& peer) {
    peer.is_ending = peer.is_closing = true;
    peers_.close(peer.id);
}

}  // namespace muster
