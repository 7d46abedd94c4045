// A node that stands by, with its peers: the real book and relay, as daemon/relay's thread drives them, turn by turn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "net/port_inbox.h"
#include "nodesim/byte_stream.h"
#include "nodesim/relay_judge.h"
#include "protocol/port.h"
#include "relay/cell_relays.h"
#include "relay/cell_routes.h"
#include "relay/peer_book.h"
#include "relay/peer_output.h"
#include "sim/agenda.h"

namespace muster::nodesim {

inline constexpr std::uint16_t frame_length_most = 65535;

// Ways to break a relay on purpose.
enum class RelaySabotage : std::uint8_t { none, loses, doubles, swaps, forgets, misroutes };

// Whom to relay a cell to: dial() gives a new stream to the owner, with its number.
struct RelayOwner {
    std::int64_t term = 0;
    std::function<std::pair<RelayLinkNumber, std::shared_ptr<ByteStream>>(const std::string& node)> dial{};
};

// One thread. All it is given outlives it.
class RelaySide final : private PeerOutput {
public:
    // What its peers get.
    class Peers {
    public:
        virtual ~Peers() = default;
        virtual void frame(ConnectionId peer, RelayLinkNumber link, std::span<const std::byte> frame) = 0;
        virtual void closed(ConnectionId peer) = 0;
    };

    RelaySide(sim::Agenda& agenda, Random random, std::string name, std::size_t cells, Peers& peers,
              RelaySabotage sabotage);

    // What a peer does.
    void opened(ConnectionId peer, Port port);
    void said(ConnectionId peer, Port port, std::span<const std::byte> frame);

    // Somebody else owns the cell.
    void set_owner(CellNumber cell, RelayOwner owner);
    // The link it has to the owner of a cell, or null.
    ByteStream* stream(CellNumber cell) { return links_[cell].stream.get(); }

private:
    struct ToPeer {
        ConnectionId peer{};
        RelayLinkNumber link = 0;
        std::vector<std::byte> frame{};  // empty: it is closed
    };

    void send(ConnectionId to, std::span<const std::byte> frame) override;
    void greeted(ConnectionId) override {}
    void report_drained(ConnectionId) override {}
    void close(ConnectionId link) override { leaving_.push_back({link, 0, {}}); }
    void cut(ConnectionId link) override { close(link); }
    ByteOrder order_of(Port port) const override { return default_byte_order(port); }

    // To the owner of a cell.
    struct Link {
        RelayOwner owner{};
        bool has_target = false;
        std::shared_ptr<ByteStream> stream{};
        RelayLinkNumber number = 0;
        Time heard{};
        Time beaten{};
        Time next_try{};
    };

    void wake();
    void turn();
    void connect(CellNumber cell);
    void read(CellNumber cell);
    void take_peers();
    void look_after(CellNumber cell);
    void lose(CellNumber cell);
    void flush();

    sim::Agenda& agenda_;
    Random random_;
    const std::string name_;
    Peers& peers_;
    const RelaySabotage sabotage_;
    PeerBook book_;
    CellRelays relays_;
    std::vector<Link> links_;
    std::array<InboundBatch, ports.size()> inboxes_;
    std::vector<ToPeer> leaving_;
    RelayLinkNumber reading_ = 0;  // the link that is read
    bool is_woken_ = false;
};

}  // namespace muster::nodesim
