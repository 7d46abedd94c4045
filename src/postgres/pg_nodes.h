// The nodes and cells as all nodes see them, in the engine (N-11).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "postgres/node_watch.h"
#include "postgres/pg_connection.h"

namespace muster {

// A row of the cells, as far as others want to know it.
struct CellState {
    std::string name{};
    std::string owner{};      // empty: nobody
    std::string handed_to{};  // without an owner: who is to take it
    std::int64_t term = 0;
    std::int64_t batch = 0;
    std::int64_t since_ms = 0;  // when the owner took it, by the engine's clock
};

// All throw PgError.
std::optional<NodeRow> find_pg_node(PgConnection& connection, const std::string& name);
std::vector<NodeRow> read_pg_nodes(PgConnection& connection);
std::vector<CellState> read_pg_cells(PgConnection& connection);

// Puts us into the row of our name, whoever had it.
void join_pg_nodes(PgConnection& connection, const NodeRow& node);
// False when another process has the name by now.
[[nodiscard]] bool beat_pg_node(PgConnection& connection, const NodeRow& node);
// Removes the rows of nodes that have not been there for a day, by the engine's clock.
void forget_pg_nodes(PgConnection& connection);
void leave_pg_nodes(PgConnection& connection, const NodeRow& node);

}  // namespace muster
