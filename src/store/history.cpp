#include "store/history.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace muster {
namespace {

constexpr std::int64_t hour_ms = 3'600'000;
constexpr UnixMs always{std::numeric_limits<std::int64_t>::min()};

}  // namespace

std::optional<UnixMs> end_of_latest(Database& database, std::size_t place) {
    Statement query =
        database.prepare("SELECT ended_at FROM matches WHERE state >= 4 ORDER BY ended_at DESC LIMIT 1 OFFSET ?1");
    query.bind(place - 1);
    if (!query.step()) return std::nullopt;
    return UnixMs{query.integer(0)};
}

// Token uses and the players of a list go with their match and their list.
History::History(Database& database)
    : database_(database),
      events_(database),
      removals_{
          database.prepare("DELETE FROM failed_requests WHERE id IN"
                           " (SELECT id FROM failed_requests WHERE failed_at < ?1 ORDER BY failed_at LIMIT ?2)"),
          database.prepare("DELETE FROM servers WHERE id IN"
                           " (SELECT id FROM servers WHERE removed_at IS NOT NULL AND removed_at < ?1"
                           " ORDER BY removed_at LIMIT ?2)"),
          database.prepare("DELETE FROM player_lists WHERE lobby IN"
                           " (SELECT lobby FROM player_lists WHERE given_at < ?1 AND NOT EXISTS"
                           " (SELECT 1 FROM matches WHERE matches.lobby = player_lists.lobby AND state < 4)"
                           " ORDER BY given_at LIMIT ?2)"),
      },
      remove_matches_(database.prepare(
          "DELETE FROM matches WHERE lobby IN"
          " (SELECT lobby FROM matches WHERE state >= 4 AND ended_at < ?1 ORDER BY ended_at LIMIT ?2)")),
      page_count_(database.prepare("PRAGMA page_count")),
      free_pages_(database.prepare("PRAGMA freelist_count")),
      page_size_(database.integer("PRAGMA page_size")) {}

bool History::prune_step(const KeptPast& kept) {
    database_.run("BEGIN IMMEDIATE");
    bool more = events_.remove_before(kept, rows_per_step_max).more;
    remove_rows(kept.since, std::min(kept.since, lobbies_since(kept)), rows_per_step_max, more);
    database_.run("COMMIT");
    return more;
}

std::int64_t History::prune_oldest(const KeptPast& kept, std::int64_t rows) {
    database_.run("BEGIN IMMEDIATE");
    const EventPast::Removed events = events_.remove_oldest(rows);
    // As old as the oldest events; when none is left, as old as can be.
    const UnixMs since{events.more ? events.latest.value + 1 : std::numeric_limits<std::int64_t>::max()};
    bool more = false;
    const std::int64_t removed = remove_rows(since, std::min(since, lobbies_since(kept)), rows, more);
    database_.run("COMMIT");
    return events.events + removed;
}

std::int64_t History::remove_rows(UnixMs since, UnixMs matches_since, std::int64_t rows, bool& more) {
    std::int64_t removed = 0;
    const auto count = [&] {
        removed += database_.changes();
        if (database_.changes() == rows) more = true;
    };
    for (Statement& removal : removals_) {
        removal.run(since.value, rows);
        count();
    }
    remove_matches_.run(matches_since.value, rows);
    count();
    return removed;
}

UnixMs History::lobbies_since(const KeptPast& kept) {
    if (kept.lobbies_least == 0) return kept.lobbies_since;
    const bool is_known = latest_lobbies_ && latest_lobbies_->count == kept.lobbies_least &&
                          std::abs(kept.lobbies_since.value - latest_lobbies_->asked.value) < hour_ms;
    if (!is_known) {
        const UnixMs since = end_of_latest(database_, kept.lobbies_least).value_or(always);
        latest_lobbies_ = {kept.lobbies_since, kept.lobbies_least, since};
    }
    return std::min(kept.lobbies_since, latest_lobbies_->since);
}

std::int64_t History::used_bytes() {
    page_count_.bind();
    page_count_.step();
    const std::int64_t pages = page_count_.integer(0);
    page_count_.reset();
    return pages * page_size_ - reusable_bytes();
}

std::int64_t History::reusable_bytes() {
    free_pages_.bind();
    free_pages_.step();
    const std::int64_t pages = free_pages_.integer(0);
    free_pages_.reset();
    return pages * page_size_;
}

std::optional<UnixMs> History::latest_date() {
    if (const auto date = events_.latest_date()) return date;
    return end_of_latest(database_, 1);
}

}  // namespace muster
