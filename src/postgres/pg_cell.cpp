#include "postgres/pg_cell.h"

#include "postgres/cell_claim.h"

namespace muster {
namespace {

// When this very connection began: with its pid it names one backend and no later one that got the same pid.
constexpr const char* own_start = "(SELECT backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid())";

}  // namespace

CellRow PgCell::look(PgConnection& connection) const {
    const PgRows row = connection.run(
        "SELECT term, batch, owner, instance, handed_to FROM muster.cells WHERE name = $1", PgValues(name_));
    if (row.empty()) throw PgError::refused("02000", "muster.cells has no row of cell " + name_);
    return {{row.integer(0, 0), row.integer(0, 1)},
            std::string(row.text(0, 2)),
            std::string(row.text(0, 3)),
            std::string(row.text(0, 4))};
}

// One statement: a node that stands still in the middle holds no lock.
bool PgCell::take(PgConnection& connection, CellMark seen) {
    const std::string sql = std::string("UPDATE muster.cells SET term = term + 1, owner = $4, instance = $5,") +
                            " handed_to = '', owned_since = (extract(epoch FROM now()) * 1000)::bigint," +
                            " pid = pg_backend_pid(), pid_started = " + own_start +
                            " WHERE name = (SELECT name FROM muster.cells WHERE name = $1 AND term = $2 AND batch = $3"
                            " FOR UPDATE NOWAIT) RETURNING settled";
    try {
        connection.take_warning();
        const PgRows taken = connection.run(sql.c_str(), PgValues(name_, seen.term, seen.batch, node_, instance_));
        // No standby has confirmed the term: another node may yet get the same one from a standby that is promoted.
        if (taken.empty() || connection.take_warning()) return false;
        settled_ = taken.integer(0, 0);
    } catch (const PgError& error) {
        if (error.is_unreachable() || error.sqlstate != "55P03") throw;
        connection.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity JOIN muster.cells USING (pid)"
            " WHERE name = $1 AND term = $2 AND batch = $3 AND backend_start::text = pid_started",
            PgValues(name_, seen.term, seen.batch));
        return false;
    }
    mark_ = {seen.term + 1, seen.batch};
    return true;
}

bool PgCell::renew(PgConnection& connection) {
    // No row divides by zero: the transaction fails instead of changing nothing (N-2).
    connection.prepare("fence",
                       "WITH passed AS (UPDATE muster.cells SET batch = $3 WHERE name = $1 AND term = $2 AND"
                       " batch = $3 - 1 AND settled = $4 RETURNING 1) SELECT 1 / count(*) FROM passed");
    connection.prepare("begin", "BEGIN");
    connection.prepare("commit", "COMMIT");
    connection.prepare("hand_over", "UPDATE muster.cells SET owner = '', handed_to = $2 WHERE name = $1");
    const std::string sql = std::string("UPDATE muster.cells SET pid = pg_backend_pid(), pid_started = ") + own_start +
                            " WHERE name = $1 AND term = $2 AND instance = $3 RETURNING 1";
    return !connection.run(sql.c_str(), PgValues(name_, mark_.term, instance_)).empty();
}

bool PgCell::is_lost(PgConnection& connection) const {
    const CellRow row = look(connection);
    return shows_loss({row.mark, row.instance}, {mark_, instance_});
}

void PgCell::send_begin(PgConnection& connection) const {
    connection.send("begin");
    connection.send("fence", PgValues(name_, mark_.term, mark_.batch + 1, settled_));
}

void PgCell::send_hand_over(PgConnection& connection, const std::string& successor) const {
    connection.send("hand_over", PgValues(name_, successor));
}

bool PgCell::keep(PgConnection& connection, const CellKept& kept) {
    return !connection
                .run(
                    "UPDATE muster.cells SET batch = batch + 1 WHERE name = $1 AND term = $2 AND settled = $3 "
                    "RETURNING 1",
                    PgValues(kept.name, kept.term, kept.settled))
                .empty();
}

bool PgCell::catch_up(PgConnection& connection) {
    const auto last = settle(connection);
    if (last) mark_.batch = *last;
    return last.has_value();
}

std::optional<std::int64_t> PgCell::settle(PgConnection& connection) {
    const PgRows row = connection.run(
        "UPDATE muster.cells SET settled = settled + 1 WHERE name = $1 AND term = $2 RETURNING batch, settled",
        PgValues(name_, mark_.term));
    if (row.empty()) return std::nullopt;
    settled_ = row.integer(0, 1);
    return row.integer(0, 0);
}

}  // namespace muster
