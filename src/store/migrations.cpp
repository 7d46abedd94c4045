#include "store/migrations.h"

#include <array>

#include "base/check.h"

namespace muster {
namespace {

// Times are Unix milliseconds, null until they happened; the views at the end show them as text. Comments inside a
// table stay in the file: `.schema` in the sqlite3 tool shows them.
constexpr const char* version_1 = R"sql(
CREATE TABLE servers (
    id INTEGER PRIMARY KEY,
    ip TEXT NOT NULL,
    port INTEGER NOT NULL,
    region INTEGER NOT NULL,
    epoch INTEGER NOT NULL,           -- grows with each registration
    max_matches INTEGER NOT NULL,
    drained_by_server INTEGER NOT NULL,
    drained_by_operator INTEGER NOT NULL,
    registered_at INTEGER NOT NULL,
    removed_at INTEGER                -- null while it is registered
) STRICT;
CREATE INDEX servers_registered ON servers (id) WHERE removed_at IS NULL;
CREATE INDEX servers_removed ON servers (removed_at) WHERE removed_at IS NOT NULL;

CREATE TABLE matches (
    lobby INTEGER PRIMARY KEY,
    chat_server TEXT NOT NULL,
    region INTEGER NOT NULL,
    game_type INTEGER NOT NULL,
    game_mode INTEGER NOT NULL,
    player_count INTEGER NOT NULL,
    average_rating INTEGER NOT NULL,
    state INTEGER NOT NULL,           -- 0 offering, 1 allocated, 2 ready, 3 started, 4 ended, 5 aborted
    reason TEXT NOT NULL,
    server INTEGER NOT NULL,
    server_epoch INTEGER NOT NULL,
    server_ip TEXT NOT NULL,
    server_port INTEGER NOT NULL,
    token TEXT NOT NULL,              -- empty once the match is over
    requested_at INTEGER,
    allocated_at INTEGER,
    ready_at INTEGER,
    started_at INTEGER,
    ended_at INTEGER,                 -- of an end or an abort
    untold_event INTEGER NOT NULL     -- the event its matchmaker server has not been sent yet, or 0
) STRICT;
CREATE INDEX matches_open ON matches (lobby) WHERE state < 4 OR untold_event <> 0;
CREATE INDEX matches_over ON matches (ended_at) WHERE state >= 4;

CREATE TABLE failed_requests (
    id INTEGER PRIMARY KEY,
    lobby INTEGER NOT NULL,
    chat_server TEXT NOT NULL,
    region INTEGER NOT NULL,
    game_type INTEGER NOT NULL,
    game_mode INTEGER NOT NULL,
    player_count INTEGER NOT NULL,
    average_rating INTEGER NOT NULL,
    reason TEXT NOT NULL,
    server INTEGER NOT NULL,          -- the last one that was asked
    server_ip TEXT NOT NULL,
    server_port INTEGER NOT NULL,
    requested_at INTEGER,
    failed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX failed_requests_failed ON failed_requests (failed_at);

CREATE TABLE player_lists (
    lobby INTEGER PRIMARY KEY,
    chat_server TEXT NOT NULL,
    given_at INTEGER NOT NULL,
    over INTEGER NOT NULL             -- 1 once the match is over
) STRICT;
CREATE INDEX player_lists_open ON player_lists (lobby) WHERE over = 0;
CREATE INDEX player_lists_given ON player_lists (given_at);

CREATE TABLE match_players (
    lobby INTEGER NOT NULL REFERENCES player_lists (lobby) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    account INTEGER NOT NULL,
    PRIMARY KEY (lobby, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE token_uses (
    lobby INTEGER NOT NULL REFERENCES matches (lobby) ON DELETE CASCADE,
    account INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    PRIMARY KEY (lobby, account)
) STRICT, WITHOUT ROWID;

CREATE TABLE accounts (
    name TEXT PRIMARY KEY,
    account INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    type TEXT NOT NULL,
    fields TEXT NOT NULL              -- a JSON object
) STRICT;
CREATE INDEX events_time ON events (time);

CREATE TABLE numbers_reserved (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    server_ids_below INTEGER NOT NULL,
    epochs_below INTEGER NOT NULL,
    event_ids_below INTEGER NOT NULL
) STRICT;

CREATE TABLE world_clock (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    elapsed_game_ms INTEGER NOT NULL,
    speed INTEGER NOT NULL
) STRICT;

CREATE VIEW match_history AS
SELECT lobby, chat_server, region, server,
       iif(instr(server_ip, ':'), '[' || server_ip || ']', server_ip) || ':' || server_port AS address,
       CASE state WHEN 0 THEN 'offering' WHEN 1 THEN 'allocated' WHEN 2 THEN 'ready' WHEN 3 THEN 'started'
                  WHEN 4 THEN 'ended' ELSE 'aborted' END AS state,
       reason, game_type, game_mode, player_count, average_rating,
       strftime('%Y-%m-%dT%H:%M:%fZ', requested_at / 1000.0, 'unixepoch') AS requested,
       strftime('%Y-%m-%dT%H:%M:%fZ', allocated_at / 1000.0, 'unixepoch') AS allocated,
       strftime('%Y-%m-%dT%H:%M:%fZ', ready_at / 1000.0, 'unixepoch') AS ready,
       strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') AS started,
       strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch') AS ended
FROM matches
UNION ALL
SELECT lobby, chat_server, region, server,
       iif(instr(server_ip, ':'), '[' || server_ip || ']', server_ip) || ':' || server_port,
       'failed', reason, game_type, game_mode, player_count, average_rating,
       strftime('%Y-%m-%dT%H:%M:%fZ', requested_at / 1000.0, 'unixepoch'), NULL, NULL, NULL,
       strftime('%Y-%m-%dT%H:%M:%fZ', failed_at / 1000.0, 'unixepoch')
FROM failed_requests;

CREATE VIEW server_history AS
SELECT id AS server, iif(instr(ip, ':'), '[' || ip || ']', ip) || ':' || port AS address, region, epoch, max_matches,
       CASE WHEN removed_at IS NOT NULL THEN 'removed'
            WHEN drained_by_server OR drained_by_operator THEN 'draining' ELSE 'registered' END AS state,
       coalesce(held.matches, 0) AS matches,
       strftime('%Y-%m-%dT%H:%M:%fZ', registered_at / 1000.0, 'unixepoch') AS registered,
       strftime('%Y-%m-%dT%H:%M:%fZ', removed_at / 1000.0, 'unixepoch') AS removed
FROM servers
LEFT JOIN (SELECT server, count(*) AS matches FROM matches GROUP BY server) AS held ON held.server = servers.id;

CREATE VIEW player_history AS
SELECT token_uses.account, accounts.name, match_history.lobby, match_history.server, match_history.address,
       match_history.region, match_history.state,
       strftime('%Y-%m-%dT%H:%M:%fZ', used_at / 1000.0, 'unixepoch') AS let_in,
       match_history.started, match_history.ended
FROM token_uses
JOIN match_history ON match_history.lobby = token_uses.lobby AND match_history.state <> 'failed'
LEFT JOIN accounts ON accounts.account = token_uses.account;

CREATE VIEW event_history AS
SELECT id, strftime('%Y-%m-%dT%H:%M:%fZ', time / 1000.0, 'unixepoch') AS time, type, fields FROM events;
)sql";

constexpr const char* version_2 = R"sql(
ALTER TABLE matches RENAME COLUMN chat_server TO matchmaker;
ALTER TABLE failed_requests RENAME COLUMN chat_server TO matchmaker;
ALTER TABLE player_lists RENAME COLUMN chat_server TO matchmaker;
)sql";

// A start reads a million lobbies that are over from the index alone.
constexpr const char* version_3 = R"sql(
DROP INDEX matches_over;
CREATE INDEX matches_over ON matches (ended_at, server, state) WHERE state >= 4;
)sql";

constexpr const char* version_4 = R"sql(
CREATE TABLE owed_aborts (
    ip TEXT NOT NULL,
    port INTEGER NOT NULL,
    lobby INTEGER NOT NULL,           -- a match to be dropped by whoever registers at ip and port
    PRIMARY KEY (ip, port, lobby)
) STRICT, WITHOUT ROWID;
)sql";

// Events are kept in blocks. Those of the old table are moved when the file is opened (old_events.h), and the table
// goes. What `matches_open` holds changes when a match begins and when its event is told, not with each of its states.
constexpr const char* version_5 = R"sql(
DROP VIEW IF EXISTS event_history;
DROP INDEX events_time;
CREATE TABLE event_blocks (
    first_id INTEGER PRIMARY KEY,     -- of the events in the block
    last_id INTEGER NOT NULL,
    first_time INTEGER NOT NULL,      -- the least
    last_time INTEGER NOT NULL,       -- the greatest
    count INTEGER NOT NULL,
    events BLOB NOT NULL              -- packed; `muster store events` prints them
) STRICT;
ALTER TABLE matches ADD COLUMN open INTEGER NOT NULL DEFAULT 1; -- it runs, or its event is untold
UPDATE matches SET open = 0 WHERE state >= 4 AND untold_event = 0;
DROP INDEX matches_open;
CREATE INDEX matches_open ON matches (lobby) WHERE open = 1;
)sql";

// Who has a server drained, when and why.
constexpr const char* version_6 = R"sql(
ALTER TABLE servers ADD COLUMN drained_by TEXT NOT NULL DEFAULT '';      -- empty: the server itself
ALTER TABLE servers ADD COLUMN drained_because TEXT NOT NULL DEFAULT '';
ALTER TABLE servers ADD COLUMN drained_at INTEGER NOT NULL DEFAULT 0;    -- 0: not drained, or from an older version
)sql";

// Who a server proved to be, operators with names, and blocks.
constexpr const char* version_7 = R"sql(
ALTER TABLE servers ADD COLUMN name TEXT NOT NULL DEFAULT '';            -- of its certificate; empty without one
CREATE TABLE operators (
    name TEXT PRIMARY KEY,
    role INTEGER NOT NULL,            -- 0 viewer, 1 matchmaker, 2 operator, 3 admin
    token_hash TEXT NOT NULL,         -- SHA-256 of the token, in hexadecimal; the token is kept nowhere
    added_by TEXT NOT NULL,
    added_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE blocks (
    kind INTEGER NOT NULL,            -- 0 IP address or range, 1 account, 2 name
    value TEXT NOT NULL,
    reason TEXT NOT NULL,
    blocked_by TEXT NOT NULL,
    blocked_at INTEGER NOT NULL,
    until INTEGER NOT NULL,           -- 0: until it is taken back
    PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;
)sql";

// Hosts, as their agents told of them last.
constexpr const char* version_8 = R"sql(
CREATE TABLE hosts (
    name TEXT PRIMARY KEY,
    address TEXT NOT NULL,            -- where players reach it; empty: not known
    region INTEGER NOT NULL,
    version TEXT NOT NULL,            -- of its agent
    draining INTEGER NOT NULL,
    joined_at INTEGER NOT NULL,
    lost_at INTEGER NOT NULL          -- 0: its agent had a link
) STRICT, WITHOUT ROWID;
CREATE TABLE host_processes (
    host TEXT NOT NULL REFERENCES hosts (name) ON DELETE CASCADE,
    name TEXT NOT NULL,
    run TEXT NOT NULL,
    state INTEGER NOT NULL,           -- 0 starting, 1 ready, 2 allocated, 3 unhealthy, 4 stopping, 5 backoff,
                                      -- 6 crash_loop, 7 stopped
    pid INTEGER NOT NULL,             -- 0: none; so are the next two
    port INTEGER NOT NULL,
    server INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    restarts INTEGER NOT NULL,
    exit_at INTEGER NOT NULL,         -- 0: it had never ended
    exit_code INTEGER NOT NULL,       -- -1: a signal, or nobody knows
    exit_signal INTEGER NOT NULL,     -- 0: none
    exit_reason TEXT NOT NULL,
    PRIMARY KEY (host, name)
) STRICT, WITHOUT ROWID;
)sql";

// What the config had when the clock was stored: a speed that an operator set holds until that changes.
constexpr const char* version_9 = R"sql(
ALTER TABLE world_clock ADD COLUMN configured_speed INTEGER NOT NULL DEFAULT 0;  -- 0: an older version wrote it
)sql";

}  // namespace

Migrations muster_migrations() {
    static const std::array<std::string, 9> steps{version_1, version_2, version_3, version_4, version_5,
                                                  version_6, version_7, version_8, version_9};
    return steps;
}

void migrate(Database& database, Migrations steps) {
    const auto known = static_cast<std::int64_t>(steps.size());
    std::int64_t version = database.integer("PRAGMA user_version");
    MUSTER_CHECK(version >= 0 && version <= known, "a newer file is refused before it is migrated");
    for (; version < known; ++version) {
        try {
            database.run("BEGIN IMMEDIATE");
            database.run(steps[static_cast<std::size_t>(version)]);
            database.run("PRAGMA user_version = " + std::to_string(version + 1));
            database.run("COMMIT");
        } catch (const SqliteError&) {
            if (database.in_transaction()) database.run("ROLLBACK");
            throw;
        }
    }
}

}  // namespace muster
