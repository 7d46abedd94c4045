// The tables that Muster keeps in a PostgreSQL database, in a schema of their own, and whether the engine can be
// trusted with them.
#pragma once

#include <string>
#include <vector>

#include "postgres/pg_connection.h"

namespace muster {

// What this version of Muster reads and writes.
inline constexpr int pg_schema_version = 10;

// Makes the tables, or brings older ones up to date; safe beside other nodes that do the same. Throws StoreError 65
// when the schema is another program's or a newer version's, 74 when rights are missing; a refusal changes nothing.
void prepare_pg_schema(PgConnection& connection);

// N-10: throws StoreError 78 naming a setting with which answered promises could be lost. Returns warnings: what may be
// lost without a synchronous standby.
std::vector<std::string> judge_pg_settings(PgConnection& connection);

}  // namespace muster
