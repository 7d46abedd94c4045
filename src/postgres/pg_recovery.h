// What a start, or a node that takes a cell over, reads of the cell (N-6).
#pragma once

#include <cstdint>
#include <string>

#include "core/cell_news.h"
#include "core/records.h"
#include "postgres/pg_connection.h"
#include "store/kept_past.h"

namespace muster {

// As LatestState::recovered() has it. In one snapshot. Throws PgError, or StoreError 65 when a row cannot be ours.
// With `shares_clock` it is the clock of several cells, and has gone on with the others (pg_clock.h).
RecoveredState read_pg_state(PgConnection& connection, const std::string& cell, const KeptPast& kept,
                             bool shares_clock);

// Operators and blocks as they are now. Throws the same.
SharedRules read_pg_rules(PgConnection& connection);
// Grows with each change of them. Throws PgError.
std::int64_t shared_rules_number(PgConnection& connection);

}  // namespace muster
