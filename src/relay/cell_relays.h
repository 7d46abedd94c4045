// The relays of all cells at one node: each cell has an owner and a book of peers of its own, and each peer is
// told to the cell that it belongs to, from its handshake on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/ip_address.h"
#include "net/port_inbox.h"
#include "protocol/port.h"
#include "relay/cell_routes.h"
#include "relay/matchmaker_fan.h"
#include "relay/node_message.h"
#include "relay/peer_book.h"
#include "relay/peer_output.h"
#include "relay/relay.h"

namespace muster {

// One thread. No I/O, no clock. What it is given outlives it.
//
// A cell without an owner holds up its own peers only: their requests wait in its book, and what needs no answer is
// lost. When too many wait, no port is read (B-1). With one cell nothing is read while it has no owner.
class CellRelays {
public:
    // Requests that may wait for the owner of one cell.
    static constexpr std::size_t waiting_max = 16'384;

    // `book` is that of a single cell: it may know peers already. Several cells have books of their own.
    CellRelays(CellRoutes routes, PeerBook& book, PeerOutput& peers);

    const CellRoutes& routes() const { return routes_; }
    std::size_t size() const { return cells_.size(); }
    bool has_owner(CellNumber cell) const { return cells_[cell].relay.has_owner(); }
    // Peers of the cell, and what they have asked that nobody answered.
    std::size_t peers_of(CellNumber cell) const { return cells_[cell].book.size(); }
    std::size_t unanswered() const;

    // An owner has welcomed us: it is told of all peers of its cell. Appends to `to_owner`.
    void owner_found(CellNumber cell, std::vector<std::byte>& to_owner);
    // The link to it is gone, or it is the owner no longer.
    void owner_lost(CellNumber cell);

    // Whether what peers did may be taken from the inboxes.
    bool may_take() const;
    // What the peers of a port did. Appends to what each owner is to be sent, in the order of the cells; null: the cell
    // has none.
    using ToOwners = std::span<std::vector<std::byte>* const>;
    void take(const InboundBatch& batch, Port port, ToOwners to_owners);

    // What the owner of a cell says about a peer. False when an owner does not say such a thing: its link is to be
    // closed.
    [[nodiscard]] bool heard(CellNumber cell, NodeKind kind, std::span<const std::byte> body);
    // What was done to peers has left; or it never will, and counts as not said.
    void flushed();
    void discarded();

private:
    // What the owner of a cell does to peers.
    class Output final : public PeerOutput {
    public:
        Output(CellRelays& relays, CellNumber cell) : relays_(relays), cell_(cell) {}
        void send(ConnectionId to, std::span<const std::byte> frame) override;
        void greeted(ConnectionId link) override { relays_.peers_.greeted(link); }
        void report_drained(ConnectionId link) override;
        void close(ConnectionId link) override { relays_.peers_.close(link); }
        void cut(ConnectionId link) override { relays_.peers_.cut(link); }
        ByteOrder order_of(Port port) const override { return relays_.peers_.order_of(port); }

    private:
        CellRelays& relays_;
        const CellNumber cell_;
    };
    struct Cell {
        // One of several, and the only one.
        Cell(CellRelays& relays, CellNumber number) : book(own), output(relays, number), relay(book, output) {}
        Cell(CellRelays& relays, PeerBook& only) : book(only), output(relays, 0), relay(only, relays.peers_) {}

        PeerBook own{};
        PeerBook& book;
        Output output;
        Relay relay;
    };
    // A game server, a host or a player: which cell it belongs to is known once it has spoken.
    struct Placed {
        std::optional<CellNumber> cell{};
        IpAddress address{};
        std::string name{};
        bool is_paused = false;
    };

    void take_placed(const InboundBatch& batch, const InboundItem& item, Port port, ToOwners to_owners);
    void take_matchmaker(const InboundBatch& batch, const InboundItem& item, ToOwners to_owners);
    void tell(CellNumber cell, const InboundBatch& batch, const InboundItem& item, Port port, ToOwners to_owners);
    // Who refuses what a matchmaker may not say.
    CellNumber spokesman() const;
    std::vector<std::byte>& out_of(CellNumber cell, ToOwners to_owners);

    const CellRoutes routes_;
    PeerOutput& peers_;
    MatchmakerFan fan_;
    std::deque<Cell> cells_;
    std::map<ConnectionId, Placed> placed_;
    std::vector<std::byte> nowhere_;  // what is said to an owner that is not there
};

}  // namespace muster
