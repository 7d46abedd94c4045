// The past that the store keeps for people and for A-2, and how it ends: in small steps, so that no commit waits long
// for one.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "store/database.h"

namespace muster {

// One thread. The database outlives it.
class History {
public:
    // Rows of one table that one step removes at most.
    static constexpr std::int64_t rows_per_step_max = 500;

    explicit History(Database& database);

    // Removes some of what is older than `since`, in a transaction of its own. False when nothing is left to remove.
    // Fails with SqliteError; the caller rolls back.
    bool prune_step(UnixMs since);

private:
    Database& database_;
    std::array<Statement, 5> removals_;
};

}  // namespace muster
