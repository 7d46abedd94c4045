// What a start, or a node that takes a cell over, reads of the cell (N-6).
#pragma once

#include <string>

#include "core/records.h"
#include "postgres/pg_connection.h"
#include "store/kept_past.h"

namespace muster {

// As LatestState::recovered() has it. In one snapshot. Throws PgError, or StoreError 65 when a row cannot be ours.
RecoveredState read_pg_state(PgConnection& connection, const std::string& cell, const KeptPast& kept);

}  // namespace muster
