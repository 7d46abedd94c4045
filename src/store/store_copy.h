// What an operator does with a store as a whole: a backup while it is in use, a restore and a compaction while it is
// not.
#pragma once

#include <cstdint>
#include <string>

#include "core/records.h"

namespace muster {

// Copies the store to `target`, a new file of mode 0600, as it is at one moment; a daemon may go on writing meanwhile.
// What stands at `target` is never overwritten, and nothing stands there before the copy is whole and synced. Fails
// with StoreError.
void back_up(const std::string& store_path, const std::string& target);

struct Restored {
    std::string old_store;    // where the file went that was there before; empty when there was none
    NumbersReserved numbers;  // the next start begins here
};

// Puts a copy of the backup in place of the store, which nobody may have open. Ids, epochs and event ids go on far
// ahead of those that may have been given out since the backup was made. Matches are left as they were: the next start
// asks their servers. Fails with StoreError, and the store is as it was.
Restored restore(const std::string& backup, const std::string& store_path);

struct Compacted {
    std::int64_t bytes_before = 0;
    std::int64_t bytes_after = 0;
};

// Gives the file's free space back to the disk. Nobody may have the store open. Needs room for a second copy while it
// works. Fails with StoreError.
Compacted compact(const std::string& store_path);

}  // namespace muster
