// Events of a file that an earlier version wrote: a row each, with their fields as JSON.
#pragma once

#include "store/database.h"

namespace muster {

// Moves them into blocks, if there are any, and drops their table. In portions, each a transaction: whatever stops it,
// the next start goes on. Fails with SqliteError.
void move_old_events(Database& database);

}  // namespace muster
