#include "postgres/pg_schema.h"

#include <array>
#include <chrono>

#include <fmt/format.h>

#include "store/store.h"
#include "store/store_fault.h"

namespace muster {
namespace {

constexpr int version_min = 130000;
// An index over many matches takes seconds for each million of them.
constexpr std::chrono::minutes step_limit{10};

// Times are Unix milliseconds. `cell` says whose rows they are; a lobby is one cell's only (N-8).
constexpr const char* version_1 = R"sql(
CREATE TABLE muster.cells (
    name text PRIMARY KEY,
    term bigint NOT NULL,            -- grows with each owner
    owner text NOT NULL,             -- the node that owns it; empty: it was handed back
    batch bigint NOT NULL,           -- the last one committed; the fence of the next (N-2)
    pid integer NOT NULL,            -- of the owner's connection
    pid_started text NOT NULL,
    settled bigint NOT NULL          -- written to settle commits of unknown outcome (N-5)
);
CREATE TABLE muster.servers (
    id integer PRIMARY KEY,
    cell text NOT NULL,
    ip text NOT NULL,
    port integer NOT NULL,
    region integer NOT NULL,
    epoch bigint NOT NULL,
    max_matches integer NOT NULL,
    drained_by_server boolean NOT NULL,
    drained_by_operator boolean NOT NULL,
    registered_at bigint NOT NULL,
    removed_at bigint,
    drained_by text NOT NULL,        -- empty: the server itself
    drained_because text NOT NULL,
    drained_at bigint NOT NULL       -- 0: not drained
);
CREATE INDEX servers_removed ON muster.servers (removed_at) WHERE removed_at IS NOT NULL;
CREATE TABLE muster.matches (
    lobby integer PRIMARY KEY,
    cell text NOT NULL,
    matchmaker text NOT NULL,
    region integer NOT NULL,
    game_type integer NOT NULL,
    game_mode integer NOT NULL,
    player_count integer NOT NULL,
    average_rating integer NOT NULL,
    state integer NOT NULL,          -- 0 offering, 1 allocated, 2 ready, 3 started, 4 ended, 5 aborted
    reason text NOT NULL,
    server integer NOT NULL,
    server_epoch bigint NOT NULL,
    server_ip text NOT NULL,
    server_port integer NOT NULL,
    token text NOT NULL,             -- empty once the match is over
    requested_at bigint NOT NULL,    -- 0 until it happened; so are the next four
    allocated_at bigint NOT NULL,
    ready_at bigint NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    untold_event integer NOT NULL
);
CREATE INDEX matches_open ON muster.matches (lobby) WHERE state < 4 OR untold_event <> 0;
CREATE INDEX matches_over ON muster.matches (ended_at, lobby, server, state) WHERE state >= 4;
CREATE TABLE muster.token_uses (
    lobby integer NOT NULL REFERENCES muster.matches (lobby) ON DELETE CASCADE,
    account integer NOT NULL,
    used_at bigint NOT NULL,
    PRIMARY KEY (lobby, account)
);
CREATE TABLE muster.player_lists (
    lobby integer PRIMARY KEY,
    cell text NOT NULL,
    matchmaker text NOT NULL,
    accounts integer[] NOT NULL,
    given_at bigint NOT NULL
);
CREATE INDEX player_lists_given ON muster.player_lists (given_at);
CREATE TABLE muster.owed_aborts (
    ip text NOT NULL,
    port integer NOT NULL,
    lobby integer NOT NULL,
    cell text NOT NULL,
    PRIMARY KEY (ip, port, lobby)
);
CREATE TABLE muster.accounts (
    name text PRIMARY KEY,
    account integer NOT NULL
);
CREATE TABLE muster.numbers_reserved (
    cell text PRIMARY KEY,
    server_ids_below integer NOT NULL,
    epochs_below bigint NOT NULL,
    event_ids_below bigint NOT NULL
);
CREATE TABLE muster.world_clock (
    one integer PRIMARY KEY CHECK (one = 1),
    elapsed_game_ms bigint NOT NULL,
    speed integer NOT NULL
);
CREATE TABLE muster.event_blocks (
    cell text NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    first_time bigint NOT NULL,
    last_time bigint NOT NULL,
    count integer NOT NULL,
    events bytea NOT NULL,           -- packed as on SQLite
    PRIMARY KEY (cell, first_id)
);
CREATE INDEX event_blocks_time ON muster.event_blocks (last_time);
)sql";

// Who a server proved to be, operators with names, and blocks: of all cells. An older node that writes a server's row
// without a name leaves it empty.
constexpr const char* version_2 = R"sql(
ALTER TABLE muster.servers ADD COLUMN name text NOT NULL DEFAULT '';
CREATE TABLE muster.operators (
    name text PRIMARY KEY,
    role integer NOT NULL,           -- 0 viewer, 1 matchmaker, 2 operator, 3 admin
    token_hash text NOT NULL,        -- SHA-256 of the token, in hexadecimal; the token is kept nowhere
    added_by text NOT NULL,
    added_at bigint NOT NULL
);
CREATE TABLE muster.blocks (
    kind integer NOT NULL,           -- 0 IP address or range, 1 account, 2 name
    value text NOT NULL,
    reason text NOT NULL,
    blocked_by text NOT NULL,
    blocked_at bigint NOT NULL,
    until bigint NOT NULL,           -- 0: until it is taken back
    PRIMARY KEY (kind, value)
);
)sql";

// Nodes that know of each other, and cells that are handed over.
constexpr const char* version_3 = R"sql(
ALTER TABLE muster.cells
    ADD COLUMN handed_to text NOT NULL DEFAULT '',       -- without an owner: the node that is to take it
    ADD COLUMN instance text NOT NULL DEFAULT '',        -- the owner's process
    ADD COLUMN owned_since bigint NOT NULL DEFAULT 0;
CREATE TABLE muster.nodes (
    name text PRIMARY KEY,
    instance text NOT NULL,          -- its process
    address text NOT NULL,
    version text NOT NULL,
    prefers text NOT NULL,           -- cells, separated by commas
    beat bigint NOT NULL,            -- grows once a second while it runs
    beat_at bigint NOT NULL,         -- by the engine's clock; only to forget nodes that never come back
    has_left boolean NOT NULL        -- it was stopped, and said so
);
)sql";

// Where other nodes reach a node. One of an older version has no such place.
constexpr const char* version_4 = R"sql(
ALTER TABLE muster.nodes ADD COLUMN node_address text NOT NULL DEFAULT '';
)sql";

// Which part of the state a cell is. A cell that an older version made is one with everything.
constexpr const char* version_5 = R"sql(
ALTER TABLE muster.cells
    ADD COLUMN regions text NOT NULL DEFAULT '*',        -- ids, ascending, separated by commas; *: all
    ADD COLUMN players boolean NOT NULL DEFAULT true;
)sql";

// Hosts, as their agents told of them last. An older node that owns the cell leaves the rows as they are.
constexpr const char* version_6 = R"sql(
CREATE TABLE muster.hosts (
    cell text NOT NULL,
    name text NOT NULL,
    address text NOT NULL,           -- where players reach it; empty: not known
    region integer NOT NULL,
    version text NOT NULL,           -- of its agent
    draining boolean NOT NULL,
    joined_at bigint NOT NULL,
    lost_at bigint NOT NULL,         -- 0: its agent had a link
    PRIMARY KEY (cell, name)
);
CREATE TABLE muster.host_processes (
    cell text NOT NULL,
    host text NOT NULL,
    name text NOT NULL,
    run text NOT NULL,
    state integer NOT NULL,          -- 0 starting, 1 ready, 2 allocated, 3 unhealthy, 4 stopping, 5 backoff,
                                     -- 6 crash_loop, 7 stopped
    pid integer NOT NULL,            -- 0: none; so are the next two
    port integer NOT NULL,
    server integer NOT NULL,
    started_at bigint NOT NULL,
    restarts integer NOT NULL,
    exit_at bigint NOT NULL,         -- 0: it had never ended
    exit_code integer NOT NULL,      -- -1: a signal, or nobody knows
    exit_signal integer NOT NULL,    -- 0: none
    exit_reason text NOT NULL,
    PRIMARY KEY (cell, host, name),
    FOREIGN KEY (cell, host) REFERENCES muster.hosts (cell, name) ON DELETE CASCADE
);
)sql";

// Which cell gave a name its account; empty: an older version wrote it.
constexpr const char* version_7 = R"sql(
ALTER TABLE muster.accounts ADD COLUMN cell text NOT NULL DEFAULT '';
)sql";

// What the config had when the clock was stored; 0: an older version wrote it. One that writes now leaves it as it was.
constexpr const char* version_8 = R"sql(
ALTER TABLE muster.world_clock ADD COLUMN configured_speed integer NOT NULL DEFAULT 0;
)sql";

// What several cells share. Nodes of an older version know one cell only, and need none of it.
constexpr const char* version_9 = R"sql(
ALTER TABLE muster.world_clock
    ADD COLUMN at_ms bigint NOT NULL DEFAULT 0;          -- when it showed that, by the engine's clock; 0: nobody knows
CREATE TABLE muster.shared_changes (                     -- of operators and blocks
    one integer PRIMARY KEY CHECK (one = 1),
    number bigint NOT NULL
);
INSERT INTO muster.shared_changes VALUES (1, 0);
CREATE TABLE muster.outbox (                             -- what a cell's players are to hear of another cell's matches
    to_cell text NOT NULL,
    from_cell text NOT NULL,
    number bigserial,                                    -- grows with each row of a cell: one owner at a time writes them
    lobby integer NOT NULL,
    kind integer NOT NULL,                               -- 0 ready, 1 begun or over, 2 fell through
    server_ip text NOT NULL,
    server_port integer NOT NULL,
    token text NOT NULL,
    reason text NOT NULL,
    accounts integer[] NOT NULL,
    PRIMARY KEY (to_cell, from_cell, number)
);
CREATE INDEX outbox_ready ON muster.outbox (from_cell, lobby) WHERE kind = 0;
)sql";

// While a match is played no index changes, and its row stays in its page: state is in no index, and a page has room
// for the next version of its rows. ended_at is 0 exactly while a match is not over.
constexpr const char* version_10 = R"sql(
DROP INDEX muster.matches_open;
DROP INDEX muster.matches_over;
CREATE INDEX matches_open ON muster.matches (lobby) WHERE ended_at = 0 OR untold_event <> 0;
CREATE INDEX matches_over ON muster.matches (ended_at, lobby) WHERE ended_at > 0;
ALTER TABLE muster.matches SET (fillfactor = 60);
)sql";

constexpr std::array<const char*, pg_schema_version> steps{version_1, version_2, version_3, version_4, version_5,
                                                           version_6, version_7, version_8, version_9, version_10};

bool has_table(PgConnection& connection, const char* name) {
    return !connection.run("SELECT 1 FROM pg_tables WHERE schemaname = 'muster' AND tablename = $1", PgValues(name))
                .empty();
}

// As the engine, the database and the role have it, whatever the session does.
std::string setting(PgConnection& connection, const char* name) {
    const PgRows rows = connection.run("SELECT reset_val FROM pg_settings WHERE name = $1", PgValues(name));
    return std::string(rows.text(0, 0));
}

// Whoever comes first makes the row; everybody then waits for it, so that one node at a time brings tables up to date.
void prepare(PgConnection& connection) {
    const bool has_schema = !connection.run("SELECT 1 FROM pg_namespace WHERE nspname = 'muster'").empty();
    if (has_schema && !has_table(connection, "version") &&
        !connection.run("SELECT 1 FROM pg_tables WHERE schemaname = 'muster'").empty())
        throw StoreError(exit_damaged,
                         "the database has a schema named muster that is not Muster's; give Muster another database");
    if (!has_schema || !has_table(connection, "version"))
        connection.run_script(
            "CREATE SCHEMA IF NOT EXISTS muster;"
            "CREATE TABLE IF NOT EXISTS muster.version (one integer PRIMARY KEY CHECK (one = 1), version integer);"
            "INSERT INTO muster.version VALUES (1, 0) ON CONFLICT DO NOTHING");
    connection.run("BEGIN");
    const PgRows found = connection.run("SELECT version FROM muster.version FOR UPDATE");
    const std::int64_t version = found.empty() ? -1 : found.integer(0, 0);
    if (version < 0 || version > pg_schema_version) {
        connection.run("ROLLBACK");
        throw StoreError(exit_damaged,
                         fmt::format("the database was written by a newer version of Muster (format {}, this one knows "
                                     "up to {})",
                                     version, pg_schema_version));
    }
    for (auto step = static_cast<std::size_t>(version); step < steps.size(); ++step)
        connection.run_script(steps[step], step_limit);
    if (version < pg_schema_version)
        connection.run("UPDATE muster.version SET version = $1", PgValues(pg_schema_version));
    connection.run("COMMIT");
}

}  // namespace

void prepare_pg_schema(PgConnection& connection) {
    constexpr int tries = 5;
    for (int tried = 1;; ++tried) {
        try {
            return prepare(connection);
        } catch (const PgError& error) {
            if (error.is_unreachable()) throw;
            connection.run("ROLLBACK");
            // Two nodes that make the same thing at the same moment: the second finds it made.
            const bool raced = error.sqlstate == "23505" || error.sqlstate == "42P07" || error.sqlstate == "42P06";
            if (raced && tried < tries) continue;
            throw StoreError(exit_io, fmt::format("the database cannot hold a store of Muster: {} (SQLSTATE {}); its "
                                                  "user needs the right to CREATE in it",
                                                  error.what(), error.sqlstate));
        }
    }
}

std::vector<std::string> judge_pg_settings(PgConnection& connection) {
    if (connection.server_version() < version_min)
        throw StoreError(exit_config, fmt::format("PostgreSQL {} is too old; Muster needs 13 or newer",
                                                  connection.server_version() / 10000));
    for (const char* name : {"fsync", "full_page_writes", "synchronous_commit"}) {
        if (setting(connection, name) == "off")
            throw StoreError(exit_config,
                             fmt::format("the database has {} = off: a crash of it would lose what Muster promised; "
                                         "turn it on",
                                         name));
    }
    if (setting(connection, "synchronous_standby_names").empty())
        return {
            "The database has no synchronous standby: losing its machine loses what was promised since the last "
            "backup or asynchronous replay"};
    return {};
}

}  // namespace muster
