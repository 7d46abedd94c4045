// Which cell a peer belongs to, by what it says first. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "protocol/port.h"

namespace muster {

// The place of a cell in the plan, which is sorted by name.
using CellNumber = std::size_t;

struct RoutedCell {
    std::string name = "main";
    std::optional<std::vector<RegionId>> regions{};  // none given: all
    bool players = true;
};

// FNV-1a, 64 bits. The cell of a player hangs on it: it may never change.
constexpr std::uint64_t name_hash(std::string_view name) {
    std::uint64_t hash = 0xCBF29CE484222325;
    for (const char letter : name) hash = (hash ^ static_cast<std::uint8_t>(letter)) * 0x100000001B3;
    return hash;
}

// Where a frame of a matchmaker goes.
struct MatchmakerRoute {
    enum class To : std::uint8_t {
        cell,  // to this one
        all,   // to all cells with regions
        any,   // to one of them, which refuses it
    };

    To to = To::any;
    CellNumber cell = 0;
    friend bool operator==(const MatchmakerRoute&, const MatchmakerRoute&) = default;
};

// Never changes; any thread.
class CellRoutes {
public:
    // By name, ascending. At least one has regions, and one has players.
    explicit CellRoutes(std::vector<RoutedCell> cells);

    std::size_t size() const { return cells_.size(); }
    const std::string& name(CellNumber cell) const { return cells_[cell].name; }
    // Cells that have regions: a matchmaker speaks with all of them.
    const std::vector<CellNumber>& with_regions() const { return with_regions_; }

    // A region that is in no cell is refused by the first one that has regions, and so on: whoever cannot be placed is
    // told why by the cell that comes first for its port.
    CellNumber of_region(RegionId region) const;
    CellNumber of_player(std::string_view name) const;
    CellNumber first_of(Port port) const {
        return port == Port::players ? with_players_.front() : with_regions_.front();
    }

    // Of a game server, a host or a player: by the first frame that it sends.
    CellNumber of_first_frame(Port port, Code code, std::span<const std::byte> payload, ByteOrder order) const;
    // Of a matchmaker's frame, after its handshake.
    MatchmakerRoute of_matchmaker_frame(Code code, std::span<const std::byte> payload, ByteOrder order) const;

private:
    std::vector<RoutedCell> cells_;
    std::vector<CellNumber> with_regions_;
    std::vector<CellNumber> with_players_;
};

}  // namespace muster
