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
    bool is_our_turn = true;       // of all nodes that are alive this one is to have it (N-12)
};

// Ours at once when nobody has it and it was handed to us, or to nobody and it is our turn, or when the owner was this
// very node in a life that is over. Otherwise only after the silence: a successor that never comes holds the cell no
// longer than an owner. When it is another's turn, that one gets as long again: nodes may see each other differently.
inline bool may_claim(const CellSeen& cell, std::string_view node, const CellWatch& watch) {
    const bool is_free = cell.owner.empty() && (cell.handed_to == node || (cell.handed_to.empty() && cell.is_our_turn));
    const bool was_ours = cell.owner == node && cell.owner_is_gone;
    return is_free || was_ours || (cell.is_our_turn ? watch.may_take() : watch.may_take_out_of_turn());
}

// Whether a row that refused the owner shows that the cell is another's. One that is behind what the owner has
// committed does not: it is that of a primary that was replaced and does not know it yet.
struct CellHeld {
    CellMark mark{};
    std::string_view instance{};
};
inline bool shows_loss(const CellHeld& row, const CellHeld& ours) {
    if (row.mark.term != ours.mark.term) return row.mark.term > ours.mark.term;
    return row.instance != ours.instance || row.mark.batch > ours.mark.batch;
}

}  // namespace muster
