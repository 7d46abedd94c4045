// What a start reads from the store's file.
#pragma once

#include <cstddef>
#include <string>

#include "core/records.h"
#include "store/database.h"
#include "store/kept_past.h"
#include "store/past_matches.h"

namespace muster {

// Everything but the past that is not kept, as LatestState::recovered() has it. Reads only what is open, not the
// history. Fails with SqliteError, or with StoreError 65 when a row cannot be ours.
RecoveredState read_state(Database& database, const std::string& path, const KeptPast& kept);

// The latest matches that are over, at most `limit`. Fails as read_state() does.
PastMatches read_latest_over(Database& database, const std::string& path, std::size_t limit);

}  // namespace muster
