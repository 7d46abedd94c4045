#include "postgres/pg_nodes.h"

namespace muster {
namespace {

constexpr const char* columns =
    "SELECT name, instance, address, version, prefers, beat, has_left, node_address FROM muster.nodes";
// More rows than there are machines are somebody's mistake, and not worth a page of thousands.
constexpr int nodes_max = 256;

NodeRow node_at(const PgRows& rows, std::size_t row) {
    NodeRow node;
    node.name = rows.text(row, 0);
    node.instance = rows.text(row, 1);
    node.address = rows.text(row, 2);
    node.version = rows.text(row, 3);
    node.prefers = rows.text(row, 4);
    node.beat = rows.integer(row, 5);
    node.has_left = rows.flag(row, 6);
    node.node_address = rows.text(row, 7);
    return node;
}

}  // namespace

std::optional<NodeRow> find_pg_node(PgConnection& connection, const std::string& name) {
    const PgRows rows = connection.run((std::string(columns) + " WHERE name = $1").c_str(), PgValues(name));
    if (rows.empty()) return std::nullopt;
    return node_at(rows, 0);
}

std::vector<NodeRow> read_pg_nodes(PgConnection& connection) {
    const PgRows rows =
        connection.run((std::string(columns) + " ORDER BY has_left, name LIMIT $1").c_str(), PgValues(nodes_max));
    std::vector<NodeRow> nodes;
    nodes.reserve(rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) nodes.push_back(node_at(rows, row));
    return nodes;
}

std::vector<CellState> read_pg_cells(PgConnection& connection) {
    const PgRows rows =
        connection.run("SELECT name, owner, handed_to, term, batch, owned_since FROM muster.cells ORDER BY name");
    std::vector<CellState> cells;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        CellState& cell = cells.emplace_back();
        cell.name = rows.text(row, 0);
        cell.owner = rows.text(row, 1);
        cell.handed_to = rows.text(row, 2);
        cell.term = rows.integer(row, 3);
        cell.batch = rows.integer(row, 4);
        cell.since_ms = rows.integer(row, 5);
    }
    return cells;
}

void join_pg_nodes(PgConnection& connection, const NodeRow& node) {
    connection.run(
        "INSERT INTO muster.nodes (name, instance, address, version, prefers, beat, beat_at, has_left, node_address)"
        " VALUES ($1, $2, $3, $4, $5, 0, (extract(epoch FROM now()) * 1000)::bigint, false, $6)"
        " ON CONFLICT (name) DO UPDATE SET instance = $2, address = $3, version = $4, prefers = $5,"
        " beat = nodes.beat + 1, beat_at = excluded.beat_at, has_left = false, node_address = $6",
        PgValues(node.name, node.instance, node.address, node.version, node.prefers, node.node_address));
}

bool beat_pg_node(PgConnection& connection, const NodeRow& node) {
    return !connection
                .run(
                    "UPDATE muster.nodes SET beat = beat + 1, beat_at = (extract(epoch FROM now()) * 1000)::bigint"
                    " WHERE name = $1 AND instance = $2 RETURNING 1",
                    PgValues(node.name, node.instance))
                .empty();
}

void forget_pg_nodes(PgConnection& connection) {
    connection.run("DELETE FROM muster.nodes WHERE beat_at < (extract(epoch FROM now()) * 1000)::bigint - 86400000");
}

void leave_pg_nodes(PgConnection& connection, const NodeRow& node) {
    connection.run("UPDATE muster.nodes SET has_left = true WHERE name = $1 AND instance = $2",
                   PgValues(node.name, node.instance));
}

}  // namespace muster
