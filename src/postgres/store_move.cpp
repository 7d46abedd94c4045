#include "postgres/store_move.h"

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "postgres/pg_hosts.h"
#include "postgres/pg_schema.h"
#include "store/store.h"
#include "store/store_fault.h"
#include "store/store_file.h"

namespace muster {
namespace {

// So many rows are sent before the answers are read.
constexpr std::int64_t rows_in_flight = 1'000;

// How one table is read and written on both sides. Both selects give the same columns in the same order, and rows in
// the order of their keys. Numbers that are not there are 0, but for `removed_at`, which is -1.
struct Table {
    const char* name;
    std::string_view kinds;  // of the columns: i a number, t a text, b bytes
    const char* file_select;
    std::array<const char*, 2> file_inserts;  // the second may be null
    const char* base_select;
    const char* base_insert;
};

// Those that others refer to come first.
constexpr std::array<Table, 13> tables{{
    {"servers",
     "itiiiiiiiittit",
     "SELECT id, ip, port, region, epoch, max_matches, drained_by_server, drained_by_operator, registered_at,"
     " coalesce(removed_at, -1), drained_by, drained_because, drained_at, name FROM servers ORDER BY id",
     {"INSERT INTO servers (id, ip, port, region, epoch, max_matches, drained_by_server, drained_by_operator,"
      " registered_at, removed_at, drained_by, drained_because, drained_at, name)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, nullif(?10, -1), ?11, ?12, ?13, ?14)",
      nullptr},
     "SELECT id::bigint, ip, port::bigint, region::bigint, epoch, max_matches::bigint,"
     " drained_by_server::int::bigint, drained_by_operator::int::bigint, registered_at, coalesce(removed_at, -1),"
     " drained_by, drained_because, drained_at, name FROM muster.servers ORDER BY id",
     "INSERT INTO muster.servers (cell, id, ip, port, region, epoch, max_matches, drained_by_server,"
     " drained_by_operator, registered_at, removed_at, drained_by, drained_because, drained_at, name) VALUES ('main',"
     " $1::int, $2, $3::int, $4::int, $5::bigint, $6::int, $7::int::boolean, $8::int::boolean, $9::bigint,"
     " nullif($10::bigint, -1), $11, $12, $13::bigint, $14)"},
    {"matches",
     "itiiiiiitiititiiiiii",
     "SELECT lobby, matchmaker, region, game_type, game_mode, player_count, average_rating, state, reason, server,"
     " server_epoch, server_ip, server_port, token, coalesce(requested_at, 0), coalesce(allocated_at, 0),"
     " coalesce(ready_at, 0), coalesce(started_at, 0), coalesce(ended_at, 0), untold_event FROM matches ORDER BY lobby",
     {"INSERT INTO matches (lobby, matchmaker, region, game_type, game_mode, player_count, average_rating, state,"
      " reason, server, server_epoch, server_ip, server_port, token, requested_at, allocated_at, ready_at, started_at,"
      " ended_at, untold_event, open) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
      " nullif(?15, 0), nullif(?16, 0), nullif(?17, 0), nullif(?18, 0), iif(?8 >= 4, ?19, nullif(?19, 0)), ?20,"
      " ?8 < 4 OR ?20 <> 0)",
      nullptr},
     "SELECT lobby::bigint, matchmaker, region::bigint, game_type::bigint, game_mode::bigint, player_count::bigint,"
     " average_rating::bigint, state::bigint, reason, server::bigint, server_epoch, server_ip, server_port::bigint,"
     " token, requested_at, allocated_at, ready_at, started_at, ended_at, untold_event::bigint FROM muster.matches"
     " ORDER BY lobby",
     "INSERT INTO muster.matches (cell, lobby, matchmaker, region, game_type, game_mode, player_count, average_rating,"
     " state, reason, server, server_epoch, server_ip, server_port, token, requested_at, allocated_at, ready_at,"
     " started_at, ended_at, untold_event) VALUES ('main', $1::int, $2, $3::int, $4::int, $5::int, $6::int, $7::int,"
     " $8::int, $9, $10::int, $11::bigint, $12, $13::int, $14, $15::bigint, $16::bigint, $17::bigint, $18::bigint,"
     " $19::bigint, $20::int)"},
    {"token_uses",
     "iii",
     "SELECT lobby, account, used_at FROM token_uses ORDER BY lobby, account",
     {"INSERT INTO token_uses (lobby, account, used_at) VALUES (?1, ?2, ?3)", nullptr},
     "SELECT lobby::bigint, account::bigint, used_at FROM muster.token_uses ORDER BY lobby, account",
     "INSERT INTO muster.token_uses (lobby, account, used_at) VALUES ($1::int, $2::int, $3::bigint)"},
    {"player_lists",
     "itit",
     "SELECT lobby, matchmaker, given_at, coalesce((SELECT group_concat(account) FROM (SELECT account FROM"
     " match_players WHERE match_players.lobby = list.lobby ORDER BY position)), '') FROM player_lists AS list"
     // One that is over without a match that is over belongs to nobody any more.
     " WHERE over = 0 OR EXISTS (SELECT 1 FROM matches WHERE matches.lobby = list.lobby AND state >= 4)"
     " ORDER BY lobby",
     {"INSERT INTO player_lists (lobby, matchmaker, given_at, over) VALUES (?1, ?2, ?3,"
      " EXISTS (SELECT 1 FROM matches WHERE lobby = ?1 AND state >= 4))",
      "INSERT INTO match_players (lobby, position, account) SELECT ?1, key + 1, value FROM json_each('[' || ?4 || "
      "']')"},
     "SELECT lobby::bigint, matchmaker, given_at, array_to_string(accounts, ',') FROM muster.player_lists ORDER BY "
     "lobby",
     "INSERT INTO muster.player_lists (cell, lobby, matchmaker, given_at, accounts) VALUES ('main', $1::int, $2,"
     " $3::bigint, string_to_array($4, ',')::integer[])"},
    {"owed_aborts",
     "tii",
     "SELECT ip, port, lobby FROM owed_aborts ORDER BY ip, port, lobby",
     {"INSERT INTO owed_aborts (ip, port, lobby) VALUES (?1, ?2, ?3)", nullptr},
     "SELECT ip, port::bigint, lobby::bigint FROM muster.owed_aborts ORDER BY ip COLLATE \"C\", port, lobby",
     "INSERT INTO muster.owed_aborts (cell, ip, port, lobby) VALUES ('main', $1, $2::int, $3::int)"},
    {"accounts",
     "ti",
     "SELECT name, account FROM accounts ORDER BY name",
     {"INSERT INTO accounts (name, account) VALUES (?1, ?2)", nullptr},
     "SELECT name, account::bigint FROM muster.accounts ORDER BY name COLLATE \"C\"",
     "INSERT INTO muster.accounts (name, account) VALUES ($1, $2::int)"},
    {"operators",
     "titti",
     "SELECT name, role, token_hash, added_by, added_at FROM operators ORDER BY name",
     {"INSERT INTO operators (name, role, token_hash, added_by, added_at) VALUES (?1, ?2, ?3, ?4, ?5)", nullptr},
     "SELECT name, role::bigint, token_hash, added_by, added_at FROM muster.operators ORDER BY name COLLATE \"C\"",
     "INSERT INTO muster.operators (name, role, token_hash, added_by, added_at) VALUES ($1, $2::int, $3, $4,"
     " $5::bigint)"},
    {"blocks",
     "itttii",
     "SELECT kind, value, reason, blocked_by, blocked_at, until FROM blocks ORDER BY kind, value",
     {"INSERT INTO blocks (kind, value, reason, blocked_by, blocked_at, until) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
      nullptr},
     "SELECT kind::bigint, value, reason, blocked_by, blocked_at, until FROM muster.blocks"
     " ORDER BY kind, value COLLATE \"C\"",
     "INSERT INTO muster.blocks (kind, value, reason, blocked_by, blocked_at, until) VALUES ($1::int, $2, $3, $4,"
     " $5::bigint, $6::bigint)"},
    {"hosts",
     "ttitiii",
     "SELECT name, address, region, version, draining, joined_at, lost_at FROM hosts ORDER BY name",
     {"INSERT INTO hosts (name, address, region, version, draining, joined_at, lost_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6,"
      " ?7)",
      nullptr},
     "SELECT name, address, region::bigint, version, draining::int::bigint, joined_at, lost_at FROM muster.hosts"
     " ORDER BY name COLLATE \"C\"",
     "INSERT INTO muster.hosts (cell, name, address, region, version, draining, joined_at, lost_at) VALUES ('main', $1,"
     " $2, $3::int, $4, $5::int::boolean, $6::bigint, $7::bigint)"},
    {"host_processes",
     "tttiiiiiiiiit",
     "SELECT host, name, run, state, pid, port, server, started_at, restarts, exit_at, exit_code, exit_signal,"
     " exit_reason FROM host_processes ORDER BY host, name",
     {"INSERT INTO host_processes (host, name, run, state, pid, port, server, started_at, restarts, exit_at,"
      " exit_code, exit_signal, exit_reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
      nullptr},
     "SELECT host, name, run, state::bigint, pid::bigint, port::bigint, server::bigint, started_at, restarts::bigint,"
     " exit_at, exit_code::bigint, exit_signal::bigint, exit_reason FROM muster.host_processes"
     " ORDER BY host COLLATE \"C\", name COLLATE \"C\"",
     "INSERT INTO muster.host_processes (cell, host, name, run, state, pid, port, server, started_at, restarts, "
     "exit_at,"
     " exit_code, exit_signal, exit_reason) VALUES ('main', $1, $2, $3, $4::int, $5::int, $6::int, $7::int,"
     " $8::bigint, $9::int, $10::bigint, $11::int, $12::int, $13)"},
    {"numbers_reserved",
     "iii",
     "SELECT server_ids_below, epochs_below, event_ids_below FROM numbers_reserved",
     {"INSERT INTO numbers_reserved (one, server_ids_below, epochs_below, event_ids_below) VALUES (1, ?1, ?2, ?3)",
      nullptr},
     "SELECT server_ids_below::bigint, epochs_below, event_ids_below FROM muster.numbers_reserved",
     "INSERT INTO muster.numbers_reserved (cell, server_ids_below, epochs_below, event_ids_below) VALUES ('main',"
     " $1::int, $2::bigint, $3::bigint)"},
    {"world_clock",
     "iii",
     "SELECT elapsed_game_ms, speed, configured_speed FROM world_clock",
     {"INSERT INTO world_clock (one, elapsed_game_ms, speed, configured_speed) VALUES (1, ?1, ?2, ?3)", nullptr},
     "SELECT elapsed_game_ms, speed::bigint, configured_speed::bigint FROM muster.world_clock",
     "INSERT INTO muster.world_clock (one, elapsed_game_ms, speed, configured_speed) VALUES (1, $1::bigint, $2::int,"
     " $3::int)"},
    {"event_blocks",
     "iiiiib",
     "SELECT first_id, last_id, first_time, last_time, count, events FROM event_blocks ORDER BY first_id",
     {"INSERT INTO event_blocks (first_id, last_id, first_time, last_time, count, events) VALUES (?1, ?2, ?3, ?4, ?5,"
      " ?6)",
      nullptr},
     "SELECT first_id, last_id, first_time, last_time, count::bigint, events FROM muster.event_blocks"
     " ORDER BY first_id",
     "INSERT INTO muster.event_blocks (cell, first_id, last_id, first_time, last_time, count, events) VALUES ('main',"
     " $1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::int, $6)"},
}};

// Read with the tables above, or of no use elsewhere.
bool is_known(std::string_view name) {
    for (const Table& table : tables)
        if (name == table.name) return true;
    for (const char* other :
         {"match_players", "failed_requests", "version", "cells", "nodes", "outbox", "shared_changes"})
        if (name == other) return true;
    return false;
}

void refuse_unknown(const std::string& name) {
    if (!is_known(name))
        throw StoreError(exit_damaged, fmt::format("the table {} is not one that is copied; nothing was done", name));
}

// One row: numbers as such, the rest as bytes.
struct MovedRow {
    std::vector<std::int64_t> numbers{};
    std::vector<std::string> texts{};
    friend bool operator==(const MovedRow&, const MovedRow&) = default;
};

bool is_number(char kind) {
    return kind == 'i';
}

MovedRow row_of(Statement& statement, const Table& table) {
    MovedRow row;
    for (std::size_t i = 0; i < table.kinds.size(); ++i) {
        const int column = static_cast<int>(i);
        if (is_number(table.kinds[i]))
            row.numbers.push_back(statement.integer(column));
        else if (table.kinds[i] == 'b')
            row.texts.emplace_back(statement.blob(column));
        else
            row.texts.push_back(pg_text(statement.text(column)));
    }
    return row;
}

MovedRow row_of(PgCopyRow& copied, const Table& table) {
    MovedRow row;
    for (const char kind : table.kinds) {
        if (is_number(kind))
            row.numbers.push_back(copied.integer());
        else
            row.texts.emplace_back(copied.bytes());
    }
    return row;
}

PgValues values_of(const MovedRow& row, const Table& table) {
    PgValues values;
    std::size_t number = 0;
    std::size_t text = 0;
    for (const char kind : table.kinds) {
        if (is_number(kind))
            values.add(row.numbers[number++]);
        else if (kind == 'b')
            values.add_bytes(row.texts[text++]);
        else
            values.add(row.texts[text++]);
    }
    return values;
}

// Compares the table on both sides, row by row. The rows.
std::int64_t compare(Database& file, PgConnection& base, const Table& table) {
    Statement select = file.prepare(table.file_select);
    select.bind();
    std::int64_t rows = 0;
    const auto differ = [&] {
        throw StoreError(exit_damaged, fmt::format("row {} of {} is not the same on both sides", rows + 1, table.name));
    };
    base.copy(table.base_select, [&](PgCopyRow& copied) {
        if (!select.step() || row_of(select, table) != row_of(copied, table)) differ();
        ++rows;
    });
    if (select.step()) differ();
    return rows;
}

std::unique_ptr<PgConnection> connected(const PgOptions& options) {
    auto hosts = pg_hosts_of(options.url);
    if (!hosts) throw StoreError(exit_config, hosts.error());
    std::size_t next = 0;
    return connect_to_any(options, *hosts, next);
}

// PostgreSQL's refusals and SQLite's, as what the command ends with.
template <class Call>
Moved guarded(const std::string& path, Call call) {
    try {
        return call();
    } catch (const PgError& error) {
        throw StoreError(exit_io, fmt::format("the database: {}", error.what()));
    } catch (const SqliteError& error) {
        throw StoreError(exit_io, fmt::format("{}: {}", path, error.what()));
    }
}

void write_table(Database& file, PgConnection& base, const Table& table) {
    base.prepare(table.name, table.base_insert);
    Statement select = file.prepare(table.file_select);
    select.bind();
    std::int64_t rows = 0;
    while (select.step()) {
        base.send(table.name, values_of(row_of(select, table), table));
        if (++rows % rows_in_flight == 0) base.answers();
    }
    base.answers();
}

void write_table(PgConnection& base, Database& file, const Table& table) {
    std::vector<Statement> inserts;
    for (const char* sql : table.file_inserts)
        if (sql) inserts.push_back(file.prepare(sql));
    base.copy(table.base_select, [&](PgCopyRow& copied) {
        const MovedRow row = row_of(copied, table);
        for (Statement& insert : inserts) {
            insert.reset();
            std::size_t number = 0;
            std::size_t text = 0;
            const int last = insert.parameters();  // not all of them need the last columns
            for (int position = 1; position <= last; ++position) {
                const char kind = table.kinds[static_cast<std::size_t>(position) - 1];
                if (is_number(kind))
                    insert.put(position, row.numbers[number++]);
                else if (kind == 'b')
                    insert.put(position, Blob{row.texts[text++]});
                else
                    insert.put(position, std::string_view(row.texts[text++]));
            }
            insert.step();
        }
    });
}

}  // namespace

Moved move_to_database(const std::string& path, const PgOptions& database) {
    if (!std::filesystem::exists(path)) throw StoreError(exit_io, path + " is not there");
    return guarded(path, [&] {
        StoreFile source({.path = path});
        Database& file = source.database();
        Statement names =
            file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
        names.bind();
        while (names.step()) refuse_unknown(names.text(0));
        const auto base = connected(database);
        judge_pg_settings(*base);
        prepare_pg_schema(*base);
        base->run("BEGIN");
        // Whoever else fills it, or wants to own it, waits, and then finds it full.
        base->run("LOCK TABLE muster.cells IN EXCLUSIVE MODE");
        bool is_empty = base->run("SELECT 1 FROM muster.cells WHERE owner <> '' OR name <> 'main' LIMIT 1").empty();
        for (const Table& table : tables) {
            const std::string sql = fmt::format("SELECT 1 FROM muster.{} LIMIT 1", table.name);
            is_empty = is_empty && base->run(sql.c_str()).empty();
        }
        if (!is_empty) throw StoreError(exit_in_use, "the database holds a store already; nothing was done");
        base->run(
            "INSERT INTO muster.cells (name, term, owner, batch, pid, pid_started, settled)"
            " VALUES ('main', 0, '', 0, 0, '', 0) ON CONFLICT DO NOTHING");
        Moved moved;
        for (const Table& table : tables) {
            write_table(file, *base, table);
            moved.tables.push_back({table.name, compare(file, *base, table)});
        }
        base->run("COMMIT");
        if (base->take_warning()) throw StoreError(exit_io, "the database committed with a warning; see its log");
        moved.left_behind = file.integer("SELECT count(*) FROM failed_requests");
        return moved;
    });
}

Moved move_to_file(const PgOptions& database, const std::string& path) {
    namespace fs = std::filesystem;
    if (fs::exists(fs::symlink_status(path)))
        throw StoreError(exit_io, path + " is there already; a copy overwrites nothing");
    const std::string draft = path + ".part";
    const auto clear = [&draft] {
        for (const char* suffix : {"", "-wal", "-shm", "-journal", ".lock"}) ::unlink((draft + suffix).c_str());
    };
    clear();
    try {
        Moved moved = guarded(path, [&] {
            const auto base = connected(database);
            if (base->run("SELECT 1 FROM pg_tables WHERE schemaname = 'muster' AND tablename = 'version'").empty())
                throw StoreError(exit_damaged, "the database holds no store of Muster");
            prepare_pg_schema(*base);
            base->run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
            const PgRows names = base->run("SELECT tablename FROM pg_tables WHERE schemaname = 'muster'");
            for (std::size_t row = 0; row < names.size(); ++row) refuse_unknown(std::string(names.text(row, 0)));
            // Each cell has numbers and lists of its own, which a file has no place for.
            if (!base->run("SELECT 1 FROM muster.cells WHERE name <> 'main' LIMIT 1").empty())
                throw StoreError(exit_config, "the store has several cells: only one with a single cell fits a file");
            StoreFile target({.path = draft});
            Database& file = target.database();
            file.run("BEGIN IMMEDIATE");
            for (const Table& table : tables) write_table(*base, file, table);
            file.run("COMMIT");
            Moved all;
            for (const Table& table : tables) all.tables.push_back({table.name, compare(file, *base, table)});
            base->run("COMMIT");
            file.run("PRAGMA wal_checkpoint(TRUNCATE)");
            return all;
        });
        if (::link(draft.c_str(), path.c_str()) != 0) throw StoreError(exit_io, path + " cannot be made");
        sync_directory_of(path);
        clear();
        return moved;
    } catch (...) {
        clear();
        throw;
    }
}

}  // namespace muster
