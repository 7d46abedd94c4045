// What peers in the world of relays ask, and what each cell makes of it: all of it follows from numbers, so that both
// ends know what is right.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/ids.h"
#include "relay/cell_routes.h"

namespace muster::nodesim {

// A peer, over the whole world; and what it asks, counted from 1.
struct Asked {
    std::int32_t peer = 0;
    std::int32_t number = 0;
    friend auto operator<=>(const Asked&, const Asked&) = default;
};

// What a cell is called.
inline std::string cell_name(CellNumber cell) {
    return "cell-" + std::to_string(cell + 1);
}

// A lobby says who asks, and what.
inline constexpr std::int32_t lobbies_per_peer = 100'000;
inline Asked asked_by(LobbyId lobby) {
    return {lobby.value / lobbies_per_peer, lobby.value % lobbies_per_peer};
}
inline LobbyId lobby_of(Asked asked) {
    return LobbyId(asked.peer * lobbies_per_peer + asked.number);
}

// The cells of a world. Peers with odd numbers are matchmakers, the others are game servers.
struct RelayWork {
    enum class Kind : std::uint8_t { ready, request, cancel, list };

    std::size_t cells = 1;

    static bool is_matchmaker(std::int32_t peer) { return peer % 2 == 1; }
    static RegionId region_of(CellNumber cell) { return RegionId(static_cast<std::int8_t>(cell + 1)); }
    // Where a game server is, and for which cell's region a request is.
    CellNumber cell_of_server(std::int32_t peer) const { return static_cast<CellNumber>(peer / 2) % cells; }
    CellNumber cell_of_request(Asked asked) const { return static_cast<CellNumber>(asked.peer + asked.number) % cells; }

    static Kind kind_of(Asked asked) {
        if (!is_matchmaker(asked.peer)) return Kind::ready;
        if (asked.number % 5 == 3) return Kind::cancel;
        return asked.number % 5 == 4 ? Kind::list : Kind::request;
    }
    // Whether it goes to all cells.
    static bool is_for_all(Asked asked) { return kind_of(asked) == Kind::cancel || kind_of(asked) == Kind::list; }
    bool is_for(CellNumber cell, Asked asked) const {
        if (is_for_all(asked)) return true;
        return cell == (is_matchmaker(asked.peer) ? cell_of_request(asked) : cell_of_server(asked.peer));
    }

    // A lobby that is cancelled is known to one cell, or to none.
    bool knows(CellNumber cell, Asked asked) const {
        return static_cast<std::size_t>(asked.number / 5) % (cells + 1) == cell;
    }
    bool is_known(Asked asked) const { return static_cast<std::size_t>(asked.number / 5) % (cells + 1) < cells; }
    // A list is refused by one cell, or by none.
    bool refuses(CellNumber cell, Asked asked) const { return knows(cell, asked); }
    bool is_refused(Asked asked) const { return is_known(asked); }
};

}  // namespace muster::nodesim
