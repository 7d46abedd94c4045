// The one world clock that several cells share (N-8, C-3): a row, and the engine's own time.
//
// The cell that leads writes what it shows. While any cell has an owner the row goes on; while none has, it stands
// still.
#pragma once

#include <optional>
#include <string>

#include "core/records.h"
#include "postgres/pg_connection.h"

namespace muster {

// What the row shows now, as columns of a ClockRecord.
std::string pg_clock_now();

// The same, once it was moved on: whoever follows the clock shows that somebody runs. Nothing before anybody wrote it.
// Throws PgError.
std::optional<ClockRecord> read_pg_clock(PgConnection& connection);

// Whoever follows the clock ends: the row shows the time until now, should nobody else go on. Throws PgError.
void leave_pg_clock(PgConnection& connection);

}  // namespace muster
