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

namespace muster {

// What the relay does to peers: net's links in the daemon.
class PeerOutput {
public:
    virtual ~PeerOutput() = default;

    virtual void send(ConnectionId to, std::span<const std::byte> frame) = 0;
    virtual void greeted(ConnectionId link) = 0;
    virtual void report_drained(ConnectionId link) = 0;
    // Once what was sent before has left.
    virtual void close(ConnectionId link) = 0;
    virtual void cut(ConnectionId link) = 0;
    virtual ByteOrder order_of(Port port) const = 0;
};

// One thread. No I/O, no clock. Book and output outlive it.
//
// While there is no owner nothing may be taken from the inboxes: what the peers say waits there, and when they are full
// the peers' sockets are left unread (B-1).
class Relay {
public:
    // The book may know peers already; no owner knows them.
    Relay(PeerBook& book, PeerOutput& peers);

    bool has_owner() const { return has_owner_; }

    // An owner has welcomed us: it is told of all peers. Appends to `to_owner`.
    void owner_found(std::vector<std::byte>& to_owner);
    // The link to it is gone, or it is the owner no longer.
    void owner_lost();

    // What the peers of a port did. Only while there is an owner.
    void take(const InboundBatch& batch, Port port, std::vector<std::byte>& to_owner);

    // What the owner says about a peer. False when an owner does not say such a thing: the link is to be closed.
    [[nodiscard]] bool heard(NodeKind kind, std::span<const std::byte> body);

private:
    void take(const InboundBatch& batch, const InboundItem& item, Port port, NodeWriter& to_owner);
    void tell(PeerBook::Peer& peer, NodeWriter& to_owner);
    void pass(ConnectionId to, std::span<const std::byte> frame);
    void end(PeerBook::Peer& peer);

    PeerBook& book_;
    PeerOutput& peers_;
    bool has_owner_ = false;
};

}  // namespace muster
