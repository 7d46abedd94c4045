// Whether what a store gave back at the start can be what an earlier run left there.
#pragma once

#include <optional>
#include <string>

#include "core/records.h"

namespace muster {

// What is wrong, by table and value: "servers holds id 9, which was never given out". None when core can start from it.
//
// Core takes its own records at their word: ids and epochs that only grow, texts that fit their messages, times that
// can be reckoned with. A file that SQLite finds whole may still hold others (fault 6).
std::optional<std::string> damage_of(const RecoveredState& state);

}  // namespace muster
