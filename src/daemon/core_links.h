// What core sends, on its way to net's links.
#pragma once

#include "core/link_output.h"
#include "net/links.h"
#include "relay/peer_book.h"

namespace muster {

// Game thread only. Links and book outlive it. Where peers outlive the game there is a book of them, and it says what a
// peer that has returned from another owner is to hear (N-7).
class CoreLinks final : public LinkOutput {
public:
    explicit CoreLinks(Links& links, PeerBook* book = nullptr) : links_(links), book_(book) {}

    void send(ConnectionId to, std::span<const std::byte> frame) override {
        if (book_ && !may_pass(to, frame)) return;
        links_.send(to, frame);
    }
    // What goes to many answers nobody.
    void send_to_all(std::span<const ConnectionId> to, std::span<const std::byte> frame) override {
        links_.send_to_all(to, frame);
    }
    void report_drained(ConnectionId link) override { links_.report_drained(link); }
    void greeted(ConnectionId link) override { links_.greeted(link); }
    void close(ConnectionId link) override {
        if (PeerBook::Peer* peer = book_ ? book_->find(link) : nullptr) peer->is_ending = true;
        links_.close_after_flush(link);
    }

private:
    bool may_pass(ConnectionId to, std::span<const std::byte> frame) {
        const PeerBook::Peer* peer = book_->find(to);
        if (!peer) return true;
        switch (book_->told(to, frame, links_.order_of(peer->port))) {
            case PeerBook::Passing::pass:
                return true;
            case PeerBook::Passing::swallow:
                return false;
            case PeerBook::Passing::amend:
                links_.send(to, book_->amended());
                return false;
            case PeerBook::Passing::close:
                close(to);
                return false;
        }
        return true;
    }

    Links& links_;
    PeerBook* const book_;
};

}  // namespace muster
