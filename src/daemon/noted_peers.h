// Peers that outlive the game, on their way to core: what the next owner must know of each is noted in a book.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "core/core.h"
#include "net/connection_table.h"
#include "protocol/peer_frame.h"
#include "relay/peer_book.h"

namespace muster {

// Game thread only. Core and book outlive it.
class NotedPeers {
public:
    // Peers of the worker `node_worker` have their sockets at other nodes, which keep books of their own.
    NotedPeers(Core& core, PeerBook& book, std::size_t node_worker)
        : core_(core), book_(book), node_worker_(node_worker) {}

    void opened(const Pass& pass, ConnectionId id, Port port, const IpAddress& peer, std::string_view name) {
        if (is_kept(id)) book_.opened(id, port, peer, name);
        core_.opened(pass, id, port, peer, name);
    }
    void frame(const Pass& pass, ConnectionId id, const PeerFrame& frame) {
        if (is_kept(id)) book_.heard(id, frame.code, frame.payload);
        core_.frame(pass, id, frame);
    }
    void malformed(const Pass& pass, ConnectionId id, WireError kind) {
        if (PeerBook::Peer* peer = book_.find(id)) peer->is_ending = true;
        core_.malformed(pass, id, kind);
    }
    void gave_up(const Pass& pass, ConnectionId id, LinkFault fault) {
        PeerBook::Peer* peer = book_.find(id);
        if (peer && fault != LinkFault::handshake_deadline) peer->is_ending = true;
        core_.gave_up(pass, id, fault);
    }
    void paused(const Pass& pass, ConnectionId id) {
        if (PeerBook::Peer* peer = book_.find(id)) peer->is_paused = true;
        core_.paused(pass, id);
    }
    void resumed(const Pass& pass, ConnectionId id) {
        if (PeerBook::Peer* peer = book_.find(id)) peer->is_paused = false;
        core_.resumed(pass, id);
    }
    void drained(ConnectionId id) { core_.drained(id); }
    void closed(const Pass& pass, ConnectionId id) {
        if (is_kept(id)) book_.closed(id);
        core_.closed(pass, id);
    }
    void handler_failed(const Pass& pass, ConnectionId id) { core_.handler_failed(pass, id); }

    // Tells core of all peers that were there before it: what another owner was told, or would have been.
    void tell_of_all(const Pass& pass) {
        book_.for_each_to_tell([&](PeerBook::Peer& peer) {
            core_.opened(pass, peer.id, peer.port, peer.address, peer.name);
            if (peer.state != PeerBook::Peer::State::fresh) say(pass, peer.id, peer.hello.code, peer.hello.payload);
            for (const PeerBook::Peer::Request& request : peer.unanswered)
                say(pass, peer.id, request.code, request.payload);
            if (peer.is_paused) core_.paused(pass, peer.id);
        });
    }

private:
    bool is_kept(ConnectionId id) const { return ConnectionTable::worker_of(id) != node_worker_; }
    void say(const Pass& pass, ConnectionId id, Code code, std::span<const std::byte> payload) {
        core_.frame(pass, id, PeerFrame{code, payload, pass.now, 0});
    }

    Core& core_;
    PeerBook& book_;
    const std::size_t node_worker_;
};

}  // namespace muster
