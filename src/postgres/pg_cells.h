// The cells of a store stand in it once they are made (N-7): all nodes plan the same, or do not start.
#pragma once

#include "core/cell_plan.h"
#include "postgres/pg_connection.h"

namespace muster {

// Makes the cells in a store that has none, safe beside other nodes that do the same. Throws StoreError 78 when the
// store has others, and tells both; PgError. A refusal changes nothing. The plans are sorted by name.
void plan_pg_cells(PgConnection& connection, const CellPlans& plans);

}  // namespace muster
