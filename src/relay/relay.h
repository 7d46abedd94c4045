// What a node that does not own the cell does with its peers (N-7): it tells the owner what they do, and does to them
// what the owner says. When the owner changes it tells the next one of each, and the peers notice a pause at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "net/port_inbox.h"
#include "protocol/port.h"
#include "relay/node_message.h"
#include "relay/peer_book.h"
#include "relay/peer_output.h"

namespace muster {

// One thread. No I/O, no clock. Book and output outlive it.
//
// While there is no owner, requests wait in the book, and what needs no answer is lost. Whoever has only this cell's
// peers takes nothing from the inboxes meanwhile: then all of it waits there (B-1).
class Relay {
public:
    // The book may know peers already; no owner knows them.
    Relay(PeerBook& book, PeerOutput& peers);

    bool has_owner() const { return has_owner_; }

    // An owner has welcomed us: it is told of all peers. Appends to `to_owner`.
    void owner_found(std::vector<std::byte>& to_owner);
    // The link to it is gone, or it is the owner no longer.
    void owner_lost();

    // What the peers of a port did. Without an owner nothing is appended.
    void take(const InboundBatch& batch, Port port, std::vector<std::byte>& to_owner);
    void take(const InboundBatch& batch, const InboundItem& item, Port port, std::vector<std::byte>& to_owner);
    // A peer has come, of which the batch's item is gone.
    void opened(const NodePeer& peer, bool is_paused, std::vector<std::byte>& to_owner);

    // What the owner says about a peer. False when an owner does not say such a thing: the link is to be closed.
    [[nodiscard]] bool heard(NodeKind kind, std::span<const std::byte> body);

private:
    void gave_up(PeerBook::Peer& peer, const InboundItem& item, NodeWriter& to_owner);
    void tell(PeerBook::Peer& peer, NodeWriter& to_owner);
    void pass(ConnectionId to, std::span<const std::byte> frame);
    void end(PeerBook::Peer& peer);

    PeerBook& book_;
    PeerOutput& peers_;
    bool has_owner_ = false;
};

}  // namespace muster
