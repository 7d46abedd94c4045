#include "postgres/pg_recovery.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "store/store.h"
#include "store/store_fault.h"

namespace muster {
namespace {

[[noreturn]] void refuse(const char* table, const std::string& what) {
    throw StoreError(exit_damaged, fmt::format("the database is damaged: muster.{} holds {}", table, what));
}

template <class Number>
Number number(PgCopyRow& row, const char* table) {
    const std::int64_t stored = row.integer();
    if (!std::in_range<Number>(stored)) refuse(table, fmt::format("{}, which is out of range", stored));
    return static_cast<Number>(stored);
}

std::string text(PgCopyRow& row) {
    return std::string(row.bytes());
}

IpAddress address(PgCopyRow& row, const char* table) {
    const std::string stored = text(row);
    const auto parsed = IpAddress::parse(stored);
    if (!parsed) refuse(table, fmt::format("\"{}\", which is no IP address", stored));
    return *parsed;
}

MatchState match_state(PgCopyRow& row) {
    const auto stored = number<std::uint8_t>(row, "matches");
    if (stored > static_cast<std::uint8_t>(MatchState::aborted))
        refuse("matches", fmt::format("state {}, which is none", stored));
    return static_cast<MatchState>(stored);
}

// A number that the enumeration has, from 0 to `last`.
template <class Enum>
Enum one_of(PgCopyRow& row, Enum last, const char* table) {
    const auto stored = number<std::uint8_t>(row, table);
    if (stored > static_cast<std::uint8_t>(last)) refuse(table, fmt::format("{}, which is out of range", stored));
    return static_cast<Enum>(stored);
}

UnixMs time(PgCopyRow& row) {
    return UnixMs{row.integer()};
}

std::vector<AccountId> accounts(std::string_view list) {
    std::vector<AccountId> all;
    while (!list.empty()) {
        std::int32_t account = 0;
        const auto read = std::from_chars(list.data(), list.data() + list.size(), account);
        if (read.ec != std::errc()) refuse("player_lists", "an account that is no number");
        all.emplace_back(account);
        list.remove_prefix(static_cast<std::size_t>(read.ptr - list.data()));
        if (!list.empty()) list.remove_prefix(1);
    }
    return all;
}

class Reader {
public:
    Reader(PgConnection& connection, const std::string& cell, const KeptPast& kept)
        : connection_(connection), cell_(quoted(cell)), kept_(kept) {}

    RecoveredState read() {
        connection_.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        try {
            read_all();
            connection_.run("COMMIT");
        } catch (const PgError& error) {
            if (!error.is_unreachable()) connection_.run("ROLLBACK");
            throw;
        } catch (const StoreError&) {
            connection_.run("ROLLBACK");
            throw;
        }
        return std::move(state_);
    }

private:
    // COPY takes no parameters.
    static std::string quoted(const std::string& name) {
        std::string text = "'";
        for (const char c : name) text += c == '\'' ? std::string("''") : std::string(1, c);
        return text + "'";
    }

    void read_all() {
        lobbies_since_ = remembered_since();
        read_numbers();
        read_clock();
        read_servers();
        read_matches();
        read_over();
        read_token_uses();
        read_players();
        read_accounts();
        read_owed_aborts();
        read_operators();
        read_blocks();
    }

    std::int64_t remembered_since() {
        if (kept_.lobbies_least == 0) return kept_.lobbies_since.value;
        const PgRows found = connection_.run(
            "SELECT ended_at FROM muster.matches WHERE state >= 4 ORDER BY ended_at DESC LIMIT 1 OFFSET $1",
            PgValues(static_cast<std::int64_t>(kept_.lobbies_least - 1)));
        if (found.empty()) return std::numeric_limits<std::int64_t>::min();
        return std::min(kept_.lobbies_since.value, found.integer(0, 0));
    }

    void read_numbers() {
        connection_.copy(
            "SELECT server_ids_below, epochs_below, event_ids_below FROM muster.numbers_reserved"
            " WHERE cell = " +
                cell_,
            [&](PgCopyRow& row) {
                state_.numbers.server_ids_below = number<std::int32_t>(row, "numbers_reserved");
                state_.numbers.epochs_below = row.integer();
                state_.numbers.event_ids_below = row.integer();
            });
    }

    void read_clock() {
        connection_.copy("SELECT elapsed_game_ms, speed FROM muster.world_clock", [&](PgCopyRow& row) {
            state_.has_clock = true;
            state_.clock.elapsed_game_ms = row.integer();
            state_.clock.speed = number<std::int32_t>(row, "world_clock");
        });
    }

    void read_servers() {
        connection_.copy(
            "SELECT id, ip, port, region, epoch, max_matches, drained_by_server, drained_by_operator,"
            " registered_at, drained_by, drained_because, drained_at, name FROM muster.servers WHERE removed_at IS "
            "NULL AND "
            "cell = " +
                cell_ + " ORDER BY id",
            [&](PgCopyRow& row) {
                ServerRecord& server = state_.servers.emplace_back();
                server.id = ServerId(number<std::int32_t>(row, "servers"));
                server.ip = address(row, "servers");
                server.port = number<std::uint16_t>(row, "servers");
                server.region = RegionId(number<std::int8_t>(row, "servers"));
                server.epoch = row.integer();
                server.max_matches = number<std::int32_t>(row, "servers");
                server.drained_by_server = row.flag();
                server.drained_by_operator = row.flag();
                server.registered_at = time(row);
                server.drain.who = text(row);
                server.drain.reason = text(row);
                server.drain.at = time(row);
                server.name = text(row);
            });
    }

    void read_matches() {
        connection_.copy(
            fmt::format("SELECT lobby, matchmaker, region, game_type, game_mode, player_count, average_rating, state,"
                        " reason, server, server_epoch, server_ip, server_port, token, requested_at, allocated_at,"
                        " ready_at, started_at, ended_at, untold_event FROM muster.matches WHERE cell = {}"
                        " AND (state < 4 OR untold_event <> 0) AND (state < 4 OR ended_at >= {}) ORDER BY lobby",
                        cell_, lobbies_since_),
            [&](PgCopyRow& row) {
                MatchRecord& match = state_.matches.emplace_back();
                match.lobby = LobbyId(number<std::int32_t>(row, "matches"));
                match.matchmaker = text(row);
                match.region = RegionId(number<std::int8_t>(row, "matches"));
                match.game_type = number<std::int8_t>(row, "matches");
                match.game_mode = number<std::int8_t>(row, "matches");
                match.player_count = number<std::int8_t>(row, "matches");
                match.average_rating = number<std::int32_t>(row, "matches");
                match.state = match_state(row);
                match.reason = text(row);
                match.server = ServerId(number<std::int32_t>(row, "matches"));
                match.server_epoch = row.integer();
                match.server_ip = text(row);
                match.server_port = number<std::int32_t>(row, "matches");
                match.token = text(row);
                match.requested_at = time(row);
                match.allocated_at = time(row);
                match.ready_at = time(row);
                match.started_at = time(row);
                match.ended_at = time(row);
                match.untold_event = number<std::uint8_t>(row, "matches");
            });
    }

    void read_over() {
        connection_.copy(fmt::format("SELECT ended_at, lobby, server, state FROM muster.matches WHERE cell = {} AND"
                                     " state >= 4 AND ended_at >= {} ORDER BY ended_at DESC, lobby DESC LIMIT {}",
                                     cell_, lobbies_since_, kept_.lobbies_most),
                         [&](PgCopyRow& row) {
                             LobbyOver& over = state_.over.emplace_back();
                             over.at = time(row);
                             over.lobby = LobbyId(number<std::int32_t>(row, "matches"));
                             over.server = ServerId(number<std::int32_t>(row, "matches"));
                             over.how = match_state(row);
                         });
        std::sort(state_.over.begin(), state_.over.end());
    }

    void read_token_uses() {
        connection_.copy(
            "SELECT lobby, account FROM muster.token_uses JOIN muster.matches USING (lobby)"
            " WHERE state < 4 AND cell = " +
                cell_ + " ORDER BY lobby, account",
            [&](PgCopyRow& row) {
                TokenUsed& use = state_.tokens_used.emplace_back();
                use.lobby = LobbyId(number<std::int32_t>(row, "token_uses"));
                use.account = AccountId(number<std::int32_t>(row, "token_uses"));
            });
    }

    void read_players() {
        connection_.copy(
            fmt::format("SELECT lobby, matchmaker, array_to_string(accounts, ',') FROM muster.player_lists AS list"
                        " WHERE cell = {} AND (given_at >= {} OR EXISTS (SELECT 1 FROM muster.matches"
                        " WHERE matches.lobby = list.lobby AND state < 4)) ORDER BY lobby",
                        cell_, kept_.since.value),
            [&](PgCopyRow& row) {
                PlayersRecord& players = state_.players.emplace_back();
                players.lobby = LobbyId(number<std::int32_t>(row, "player_lists"));
                players.matchmaker = text(row);
                players.accounts = accounts(row.bytes());
            });
    }

    void read_accounts() {
        connection_.copy("SELECT name, account FROM muster.accounts ORDER BY account, name COLLATE \"C\"",
                         [&](PgCopyRow& row) {
                             AccountRecord& account = state_.accounts.emplace_back();
                             account.name = text(row);
                             account.account = AccountId(number<std::int32_t>(row, "accounts"));
                         });
    }

    void read_owed_aborts() {
        connection_.copy("SELECT ip, port, lobby FROM muster.owed_aborts WHERE cell = " + cell_ +
                             " ORDER BY ip COLLATE \"C\", port, lobby",
                         [&](PgCopyRow& row) {
                             AbortOwed& owed = state_.owed_aborts.emplace_back();
                             owed.ip = address(row, "owed_aborts");
                             owed.port = number<std::uint16_t>(row, "owed_aborts");
                             owed.lobby = LobbyId(number<std::int32_t>(row, "owed_aborts"));
                         });
    }

    void read_operators() {
        connection_.copy(
            "SELECT name, role, token_hash, added_by, added_at FROM muster.operators ORDER BY name COLLATE \"C\"",
            [&](PgCopyRow& row) {
                OperatorRecord& known = state_.operators.emplace_back();
                known.name = text(row);
                known.role = one_of(row, OperatorRole::admin, "operators");
                known.token_hash = text(row);
                known.added_by = text(row);
                known.added_at = time(row);
            });
    }

    void read_blocks() {
        connection_.copy(
            "SELECT kind, value, reason, blocked_by, blocked_at, until FROM muster.blocks"
            " ORDER BY kind, value COLLATE \"C\"",
            [&](PgCopyRow& row) {
                BlockRecord& block = state_.blocks.emplace_back();
                block.kind = one_of(row, BlockKind::name, "blocks");
                block.value = text(row);
                block.reason = text(row);
                block.blocked_by = text(row);
                block.blocked_at = time(row);
                block.until = time(row);
            });
    }

    PgConnection& connection_;
    const std::string cell_;
    const KeptPast& kept_;
    std::int64_t lobbies_since_ = 0;
    RecoveredState state_;
};

}  // namespace

RecoveredState read_pg_state(PgConnection& connection, const std::string& cell, const KeptPast& kept) {
    return Reader(connection, cell, kept).read();
}

}  // namespace muster
