// A matchmaker and the cells that it speaks with: it is in the books of all cells with regions, and hears one
// answer to each thing it asks.
//
//   what it says        goes to            what it hears
//   ------------------  ----------------- -----------------------------------------------------------------------------
//   handshake           all                one acceptance, once all cells with an owner have accepted, with the servers
//                                          of all; the first refusal at once
//   heartbeat           all                the first acknowledgement
//   allocation request  its region's cell  what that cell says
//   cancel              all                the event of the cell that knows the lobby; "Match not found" when none does
//   list of players     all                yes, once all have taken it; the first refusal at once
//
// A list goes to all since the request may come later, or be refused and asked again in another cell's region. A cell
// without an owner answers once it has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/port.h"
#include "relay/cell_routes.h"
#include "relay/peer_output.h"

namespace muster {

// One thread. No I/O. What it is given outlives it.
class MatchmakerFan {
public:
    // What cells may say before the handshake is answered, of one matchmaker. One with more is closed.
    static constexpr std::size_t held_bytes_max = std::size_t{4} * 1024 * 1024;
    // Cancels and lists of one matchmaker that not all cells have answered.
    static constexpr std::size_t waiting_max = 4096;

    MatchmakerFan(const CellRoutes& routes, PeerOutput& peers) : routes_(routes), peers_(peers) {}

    bool knows(ConnectionId id) const { return matchmakers_.contains(id); }
    std::size_t size() const { return matchmakers_.size(); }

    void opened(ConnectionId id) { matchmakers_.try_emplace(id); }
    void closed(ConnectionId id) { matchmakers_.erase(id); }
    // It has said something that goes to all cells. False when that is its second handshake, which one cell refuses.
    [[nodiscard]] bool asked_all(ConnectionId id, Code code, std::span<const std::byte> payload);

    // The owner of a cell sends it a frame, or wants to know when all that it sent has left.
    void send(CellNumber from, ConnectionId to, std::span<const std::byte> frame);
    void report_drained(ConnectionId link);

    // Which cells have an owner: handshakes wait for no other.
    void owner_found(CellNumber cell) { owned_ |= bit(cell); }
    void owner_lost(CellNumber cell);

private:
    using Cells = std::uint64_t;  // a bit for each
    // What was asked of all cells, and not answered by these.
    struct Waiting {
        Cells by = 0;
        bool is_told = false;  // the matchmaker has its answer
    };
    struct Key {
        Code answer = 0;
        LobbyId lobby{};
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    struct Held {
        std::vector<std::byte> frame{};  // empty: report_drained
    };
    struct Matchmaker {
        bool is_asking = false;   // its handshake was said
        bool is_welcome = false;  // and answered
        Cells accepted_by = 0;
        MatchmakerHandshakeResponse::Accepted acceptance{};
        std::vector<Held> held{};
        std::size_t held_bytes = 0;
        std::uint64_t acknowledged = 0;
        std::map<CellNumber, std::uint64_t> acknowledged_by{};
        std::map<Key, std::deque<Waiting>> waiting{};
        std::size_t waiting_count = 0;
    };

    static constexpr Cells bit(CellNumber cell) { return Cells{1} << cell; }
    Cells all() const;
    ByteOrder order() const { return peers_.order_of(Port::matchmakers); }

    void handshake_answered(CellNumber from, ConnectionId id, Matchmaker& matchmaker, std::span<const std::byte> frame);
    void welcome_if_complete(ConnectionId id, Matchmaker& matchmaker);
    // The answer of a cell to what was asked of all. `is_last_word`: no other cell's answer counts any more.
    void answered(CellNumber from, ConnectionId id, Matchmaker& matchmaker, Key key, bool is_last_word,
                  std::span<const std::byte> frame);
    // Once the handshake is answered.
    void pass(ConnectionId id, Matchmaker& matchmaker, std::span<const std::byte> frame);
    void hold(ConnectionId id, Matchmaker& matchmaker, std::span<const std::byte> frame);

    const CellRoutes& routes_;
    PeerOutput& peers_;
    Cells owned_ = 0;
    std::map<ConnectionId, Matchmaker> matchmakers_;
};

// One acceptance of several: the latest time, the servers by ascending id, as many as fit one frame.
MatchmakerHandshakeResponse::Accepted merged(MatchmakerHandshakeResponse::Accepted first,
                                             const MatchmakerHandshakeResponse::Accepted& second);

}  // namespace muster
