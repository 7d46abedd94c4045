// What core sends to peers that outlive the game, on its way to net's links.
#pragma once

#include "net/links.h"
#include "protocol/link_output.h"
#include "relay/peer_book.h"

namespace muster {

// Game thread only. Links and book outlive it. The book says what a peer that has returned from another owner is to
// hear.
class NotedLinks final : public LinkOutput {
public:
    NotedLinks(Links& links, PeerBook& book) : links_(links), book_(book) {}

    void send(ConnectionId to, std::span<const std::byte> frame) override {
        if (may_pass(to, frame)) links_.send(to, frame);
    }
    void send_soon(ConnectionId to, std::span<const std::byte> frame) override {
        if (may_pass(to, frame)) links_.send_soon(to, frame);
    }
    // What goes to many answers nobody.
    void send_to_all(std::span<const ConnectionId> to, std::span<const std::byte> frame) override {
        links_.send_to_all(to, frame);
    }
    void report_drained(ConnectionId link) override { links_.report_drained(link); }
    void greeted(ConnectionId link) override { links_.greeted(link); }
    void close(ConnectionId link) override {
        if (PeerBook::Peer* peer = book_.find(link)) peer->is_ending = true;
        links_.close(link);
    }

private:
    bool may_pass(ConnectionId to, std::span<const std::byte> frame) {
        PeerBook::Peer* peer = book_.find(to);
        if (!peer) return true;
        switch (book_.told(*peer, frame, links_.order_of(peer->port))) {
            case PeerBook::Passing::pass:
                return true;
            case PeerBook::Passing::swallow:
                return false;
            case PeerBook::Passing::amend:
                links_.send(to, book_.amended());
                return false;
            case PeerBook::Passing::close:
                close(to);
                return false;
        }
        return true;
    }

    Links& links_;
    PeerBook& book_;
};

}  // namespace muster
