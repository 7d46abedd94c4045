// Whether a node may take a cell now (N-3, N-6). No I/O.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "postgres/cell_watch.h"

namespace muster {

// What came of one look at a cell.
struct CellOwnership {
    bool ours = false;
    std::string owner{};   // who has it, or had it before us
    std::string engine{};  // or why nobody knows
    std::int64_t term = 0;
};

// What the row of a cell says, and what this node knows of it.
struct CellSeen {
    std::string_view owner{};      // empty: nobody
    std::string_view handed_to{};  // without an owner: who is to take it
    bool owner_is_gone = false;    // its process is known to have ended: it was on this machine
};

// Ours at once when nobody has it and it was handed to us or to nobody, or when the owner was this very node in a life
// that is over. Otherwise only after the silence: a successor that never comes holds the cell no longer than an owner.
inline bool may_claim(const CellSeen& cell, std::string_view node, const CellWatch& watch) {
    const bool is_free = cell.owner.empty() && (cell.handed_to.empty() || cell.handed_to == node);
    const bool was_ours = cell.owner == node && cell.owner_is_gone;
    return is_free || was_ours || watch.may_take();
}

}  // namespace muster
