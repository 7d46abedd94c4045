// Deletes old history (events, ended matches, and lobbies that A-2 no longer needs) in small steps, so that no commit
// waits long.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "store/database.h"
#include "store/event_past.h"
#include "store/kept_past.h"

namespace muster {

// One thread. The database outlives it. Every call may fail with SqliteError; the caller rolls back.
class History {
public:
    // Rows of one table that one step removes at most, unless it is told otherwise.
    static constexpr std::int64_t rows_per_step_max = 500;

    explicit History(Database& database);

    // Removes some of what is not kept, in a transaction of its own. False when nothing is left to remove.
    bool prune_step(const KeptPast& kept);

    // Removes the oldest `rows` events and what is as old as they are, whatever `kept` says of it; only lobbies that
    // are to be remembered stay. Returns how many rows went: 0 when nothing is left that could go.
    std::int64_t prune_oldest(const KeptPast& kept, std::int64_t rows);

    // What the file holds, and what it holds of free space that is used before it grows.
    std::int64_t used_bytes();
    std::int64_t reusable_bytes();

    // The latest date that was written down and had lasted (SettledDate); nothing in a new store.
    std::optional<UnixMs> latest_date();

private:
    std::int64_t remove_rows(UnixMs since, UnixMs matches_since, std::int64_t rows, bool& more);
    UnixMs lobbies_since(const KeptPast& kept);

    Database& database_;
    EventPast events_;
    std::array<Statement, 3> removals_;
    Statement remove_matches_;
    Statement page_count_;
    Statement free_pages_;
    std::int64_t page_size_;

    // Since when the latest so and so many lobbies are. It can only grow, so that it is asked for once an hour.
    struct LatestLobbies {
        UnixMs asked;
        std::size_t count;
        UnixMs since;
    };
    std::optional<LatestLobbies> latest_lobbies_;
};

// When the `place`-th latest match, counted from 1, was over; nothing when there are fewer. Fails with SqliteError.
std::optional<UnixMs> end_of_latest(Database& database, std::size_t place);

}  // namespace muster
