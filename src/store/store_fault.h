// What an error of SQLite means for the store: try again later, or never again.
#pragma once

#include <string>

#include "core/records.h"
#include "store/database.h"
#include "store/store.h"

namespace muster {

// What a StoreError ends the process with; the numbers are those of sysexits.h.
inline constexpr int exit_damaged = 65;     // damaged, foreign or newer
inline constexpr int exit_in_use = 73;      // another process holds it
inline constexpr int exit_io = 74;          // cannot be made, opened, read, written or synced
inline constexpr int exit_taken_over = 75;  // another node owns what this one owned
inline constexpr int exit_config = 78;      // a setting is wrong, or promises would be lost with it

// `full` or `transient` when the same may work later. Everything else fails with the StoreError to end with: after a
// failed sync nobody knows what the disk holds, and trying again would only hide it (fault 3).
StoreFault judge(const SqliteError& error, const std::string& path);

// The StoreError for an error while the file is opened or read at the start.
StoreError cannot_open(const SqliteError& error, const std::string& path);

}  // namespace muster
