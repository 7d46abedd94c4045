#include "store/history.h"

namespace muster {

// Token uses and the players of a list go with their match and their list.
History::History(Database& database)
    : database_(database),
      removals_{
          database.prepare("DELETE FROM events WHERE id IN"
                           " (SELECT id FROM events WHERE time < ?1 ORDER BY time LIMIT ?2)"),
          database.prepare(
              "DELETE FROM matches WHERE lobby IN"
              " (SELECT lobby FROM matches WHERE state >= 4 AND ended_at < ?1 ORDER BY ended_at LIMIT ?2)"),
          database.prepare("DELETE FROM failed_requests WHERE id IN"
                           " (SELECT id FROM failed_requests WHERE failed_at < ?1 ORDER BY failed_at LIMIT ?2)"),
          database.prepare("DELETE FROM servers WHERE id IN"
                           " (SELECT id FROM servers WHERE removed_at IS NOT NULL AND removed_at < ?1"
                           " ORDER BY removed_at LIMIT ?2)"),
          database.prepare("DELETE FROM player_lists WHERE lobby IN"
                           " (SELECT lobby FROM player_lists WHERE given_at < ?1 AND NOT EXISTS"
                           " (SELECT 1 FROM matches WHERE matches.lobby = player_lists.lobby AND state < 4)"
                           " ORDER BY given_at LIMIT ?2)"),
      } {}

bool History::prune_step(UnixMs since) {
    bool more = false;
    database_.run("BEGIN IMMEDIATE");
    for (Statement& removal : removals_) {
        removal.run(since.value, rows_per_step_max);
        if (database_.changes() == rows_per_step_max) more = true;
    }
    database_.run("COMMIT");
    return more;
}

}  // namespace muster
