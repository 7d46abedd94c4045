// What a start reads from the store's file.
#pragma once

#include <string>

#include "core/records.h"
#include "store/database.h"
#include "store/kept_past.h"

namespace muster {

// Everything but the past that is not kept, as LatestState::recovered() has it. Reads only what is open, not the
// history. Fails with SqliteError, or with StoreError 65 when a row cannot be ours.
RecoveredState read_state(Database& database, const std::string& path, const KeptPast& kept);

}  // namespace muster
