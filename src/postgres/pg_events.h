// The event history on PostgreSQL: read block by block, and the past that is removed.
#pragma once

#include <cstdint>
#include <string>

#include "core/event_search.h"
#include "postgres/pg_connection.h"
#include "store/kept_past.h"

namespace muster {

// Throws PgError, and StoreError 65 when a block is damaged.
EventsFound find_pg_events(PgConnection& connection, const std::string& cell, const EventSearch& search);

// Sends, inside a transaction, the removal of some of what is not kept: so many rows of each table at most.
void send_pg_pruning(PgConnection& connection, const std::string& cell, const KeptPast& kept, int rows);
// The same of the oldest events, whatever is kept.
void send_pg_shrinking(PgConnection& connection, const std::string& cell, int rows);

struct PgPast {
    std::int64_t event_bytes = 0;
    bool has_old = false;  // something that is not kept
};
PgPast measure_pg_past(PgConnection& connection, const std::string& cell, const KeptPast& kept);

}  // namespace muster
