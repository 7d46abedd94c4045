#include "postgres/pg_cell.h"

namespace muster {
namespace {

// When this very connection began: with its pid it names one backend and no later one that got the same pid.
constexpr const char* own_start = "(SELECT backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid())";

}  // namespace

CellRow PgCell::look(PgConnection& connection) const {
    const auto read = [&] {
        return connection.run("SELECT term, batch, owner, instance, handed_to FROM muster.cells WHERE name = $1",
                              PgValues(name_));
    };
    PgRows row = read();
    if (row.empty()) {
        connection.run(
            "INSERT INTO muster.cells (name, term, owner, batch, pid, pid_started, settled)"
            " VALUES ($1, 0, '', 0, 0, '', 0) ON CONFLICT DO NOTHING",
            PgValues(name_));
        row = read();
    }
    return {{row.integer(0, 0), row.integer(0, 1)},
            std::string(row.text(0, 2)),
            std::string(row.text(0, 3)),
            std::string(row.text(0, 4))};
}

bool PgCell::take(PgConnection& connection, CellMark seen) {
    connection.run("BEGIN");
    try {
        const PgRows locked =
            connection.run("SELECT 1 FROM muster.cells WHERE name = $1 AND term = $2 AND batch = $3 FOR UPDATE NOWAIT",
                           PgValues(name_, seen.term, seen.batch));
        if (locked.empty()) {
            connection.run("ROLLBACK");
            return false;
        }
        const std::string sql = std::string("UPDATE muster.cells SET term = term + 1, owner = $2, instance = $3,") +
                                " handed_to = '', owned_since = (extract(epoch FROM now()) * 1000)::bigint," +
                                " pid = pg_backend_pid(), pid_started = " + own_start + " WHERE name = $1";
        connection.run(sql.c_str(), PgValues(name_, node_, instance_));
        connection.run("COMMIT");
    } catch (const PgError& error) {
        if (error.is_unreachable()) throw;
        connection.run("ROLLBACK");
        if (error.sqlstate != "55P03") throw;
        connection.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity JOIN muster.cells USING (pid)"
            " WHERE name = $1 AND backend_start::text = pid_started",
            PgValues(name_));
        return false;
    }
    mark_ = {seen.term + 1, seen.batch};
    return true;
}

bool PgCell::renew(PgConnection& connection) {
    // No row divides by zero: the transaction fails instead of changing nothing (N-2).
    connection.prepare("fence",
                       "WITH passed AS (UPDATE muster.cells SET batch = $3 WHERE name = $1 AND term = $2 AND"
                       " batch = $3 - 1 RETURNING 1) SELECT 1 / count(*) FROM passed");
    connection.prepare("hand_over", "UPDATE muster.cells SET owner = '', handed_to = $2 WHERE name = $1");
    const std::string sql = std::string("UPDATE muster.cells SET pid = pg_backend_pid(), pid_started = ") + own_start +
                            " WHERE name = $1 AND term = $2 RETURNING 1";
    return !connection.run(sql.c_str(), PgValues(name_, mark_.term)).empty();
}

void PgCell::send_fence(PgConnection& connection) const {
    connection.send("fence", PgValues(name_, mark_.term, mark_.batch + 1));
}

void PgCell::send_hand_over(PgConnection& connection, const std::string& successor) const {
    connection.send("hand_over", PgValues(name_, successor));
}

bool PgCell::keep(PgConnection& connection, const std::string& name, std::int64_t term) {
    return !connection
                .run("UPDATE muster.cells SET batch = batch + 1 WHERE name = $1 AND term = $2 RETURNING 1",
                     PgValues(name, term))
                .empty();
}

bool PgCell::catch_up(PgConnection& connection) {
    const PgRows row =
        connection.run("UPDATE muster.cells SET settled = settled + 1 WHERE name = $1 AND term = $2 RETURNING batch",
                       PgValues(name_, mark_.term));
    if (row.empty()) return false;
    mark_.batch = row.integer(0, 0);
    return true;
}

PgCell::Outcome PgCell::settle(PgConnection& connection) const {
    const PgRows row =
        connection.run("UPDATE muster.cells SET settled = settled + 1 WHERE name = $1 AND term = $2 RETURNING batch",
                       PgValues(name_, mark_.term));
    if (row.empty()) return Outcome::over;
    return row.integer(0, 0) == mark_.batch ? Outcome::not_applied : Outcome::applied;
}

}  // namespace muster
