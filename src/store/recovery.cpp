#include "store/recovery.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "store/history.h"
#include "store/store_fault.h"

namespace muster {
namespace {

// A row under a statement that stands on it. Every number is checked against what its field can hold.
class Row {
public:
    Row(const Statement& statement, const std::string& path, const char* table)
        : statement_(statement), path_(path), table_(table) {}

    template <class Number>
    Number number(int column) const {
        const std::int64_t stored = statement_.integer(column);
        if (!std::in_range<Number>(stored)) refuse(fmt::format("{}, which is out of range", stored));
        return static_cast<Number>(stored);
    }
    bool flag(int column) const { return statement_.integer(column) != 0; }
    UnixMs time(int column) const { return UnixMs{statement_.integer(column)}; }
    std::string text(int column) const { return statement_.text(column); }

    IpAddress ip(int column) const {
        const auto parsed = IpAddress::parse(text(column));
        if (!parsed) refuse(fmt::format("\"{}\", which is no IP address", text(column)));
        return *parsed;
    }
    MatchState state(int column) const {
        const auto stored = number<std::uint8_t>(column);
        if (stored > static_cast<std::uint8_t>(MatchState::aborted))
            refuse(fmt::format("state {}, which is none", stored));
        return static_cast<MatchState>(stored);
    }

    // A number that the enumeration has, from 0 to `last`.
    template <class Enum>
    Enum one_of(int column, Enum last, const char* what) const {
        const auto stored = number<std::uint8_t>(column);
        if (stored > static_cast<std::uint8_t>(last)) refuse(fmt::format("{} {}, which is none", what, stored));
        return static_cast<Enum>(stored);
    }

private:
    [[noreturn]] void refuse(const std::string& what) const {
        throw StoreError(exit_damaged, fmt::format("{} is damaged: {} holds {}", path_, table_, what));
    }

    const Statement& statement_;
    const std::string& path_;
    const char* table_;
};

class Reader {
public:
    Reader(Database& database, const std::string& path, const KeptPast& kept)
        : database_(database), path_(path), kept_(kept), lobbies_since_(remembered_since()) {}

    RecoveredState read() {
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
        return std::move(state_);
    }

private:
    UnixMs remembered_since() {
        if (kept_.lobbies_least == 0) return kept_.lobbies_since;
        constexpr UnixMs always{std::numeric_limits<std::int64_t>::min()};
        return std::min(kept_.lobbies_since, end_of_latest(database_, kept_.lobbies_least).value_or(always));
    }

    void read_numbers() {
        Statement query =
            database_.prepare("SELECT server_ids_below, epochs_below, event_ids_below FROM numbers_reserved");
        const Row row(query, path_, "numbers_reserved");
        while (query.step())
            state_.numbers = {row.number<std::int32_t>(0), row.number<std::int64_t>(1), row.number<std::int64_t>(2)};
    }

    void read_clock() {
        Statement query = database_.prepare("SELECT elapsed_game_ms, speed FROM world_clock");
        const Row row(query, path_, "world_clock");
        while (query.step()) {
            state_.has_clock = true;
            state_.clock = {row.number<std::int64_t>(0), row.number<std::int32_t>(1)};
        }
    }

    void read_servers() {
        Statement query = database_.prepare(
            "SELECT id, ip, port, region, epoch, max_matches, drained_by_server, drained_by_operator, registered_at,"
            " drained_by, drained_because, drained_at, name"
            " FROM servers WHERE removed_at IS NULL ORDER BY id");
        const Row row(query, path_, "servers");
        while (query.step()) {
            ServerRecord& server = state_.servers.emplace_back();
            server.id = ServerId(row.number<std::int32_t>(0));
            server.ip = row.ip(1);
            server.port = row.number<std::uint16_t>(2);
            server.region = RegionId(row.number<std::int8_t>(3));
            server.epoch = row.number<std::int64_t>(4);
            server.max_matches = row.number<std::int32_t>(5);
            server.drained_by_server = row.flag(6);
            server.drained_by_operator = row.flag(7);
            server.registered_at = row.time(8);
            server.drain = {row.text(9), row.text(10), row.time(11)};
            server.name = row.text(12);
        }
    }

    void read_matches() {
        Statement query = database_.prepare(
            "SELECT lobby, matchmaker, region, game_type, game_mode, player_count, average_rating, state, reason,"
            " server, server_epoch, server_ip, server_port, token, requested_at, allocated_at, ready_at, started_at,"
            " ended_at, untold_event FROM matches"
            " WHERE open = 1 AND (state < 4 OR ended_at >= ?1) ORDER BY lobby");
        query.bind(lobbies_since_.value);
        const Row row(query, path_, "matches");
        while (query.step()) {
            MatchRecord& match = state_.matches.emplace_back();
            match.lobby = LobbyId(row.number<std::int32_t>(0));
            match.matchmaker = row.text(1);
            match.region = RegionId(row.number<std::int8_t>(2));
            match.game_type = row.number<std::int8_t>(3);
            match.game_mode = row.number<std::int8_t>(4);
            match.player_count = row.number<std::int8_t>(5);
            match.average_rating = row.number<std::int32_t>(6);
            match.state = row.state(7);
            match.reason = row.text(8);
            match.server = ServerId(row.number<std::int32_t>(9));
            match.server_epoch = row.number<std::int64_t>(10);
            match.server_ip = row.text(11);
            match.server_port = row.number<std::int32_t>(12);
            match.token = row.text(13);
            match.requested_at = row.time(14);
            match.allocated_at = row.time(15);
            match.ready_at = row.time(16);
            match.started_at = row.time(17);
            match.ended_at = row.time(18);
            match.untold_event = row.number<std::uint8_t>(19);
        }
    }

    void read_over() {
        Statement query = database_.prepare(
            "SELECT lobby, ended_at, server, state FROM matches WHERE state >= 4 AND ended_at >= ?1"
            " ORDER BY ended_at DESC LIMIT ?2");
        query.bind(lobbies_since_.value, kept_.lobbies_most);
        const Row row(query, path_, "matches");
        while (query.step()) {
            state_.over.push_back({row.time(1), LobbyId(row.number<std::int32_t>(0)),
                                   ServerId(row.number<std::int32_t>(2)), row.state(3)});
        }
        std::sort(state_.over.begin(), state_.over.end());
    }

    void read_token_uses() {
        Statement query = database_.prepare(
            "SELECT lobby, account FROM token_uses WHERE lobby IN (SELECT lobby FROM matches WHERE open = 1 AND state "
            "< 4)"
            " ORDER BY lobby, account");
        const Row row(query, path_, "token_uses");
        while (query.step())
            state_.tokens_used.push_back(
                {LobbyId(row.number<std::int32_t>(0)), AccountId(row.number<std::int32_t>(1))});
    }

    void read_players() {
        Statement query = database_.prepare(
            "SELECT lobby, matchmaker FROM player_lists WHERE over = 0 AND (given_at >= ?1"
            " OR EXISTS (SELECT 1 FROM matches WHERE matches.lobby = player_lists.lobby AND state < 4)) ORDER BY "
            "lobby");
        Statement accounts = database_.prepare("SELECT account FROM match_players WHERE lobby = ?1 ORDER BY position");
        query.bind(kept_.since.value);
        const Row list(query, path_, "player_lists");
        const Row player(accounts, path_, "match_players");
        while (query.step()) {
            PlayersRecord& players = state_.players.emplace_back();
            players.lobby = LobbyId(list.number<std::int32_t>(0));
            players.matchmaker = list.text(1);
            accounts.bind(players.lobby.value);
            while (accounts.step()) players.accounts.emplace_back(player.number<std::int32_t>(0));
        }
    }

    void read_accounts() {
        Statement query = database_.prepare("SELECT name, account FROM accounts ORDER BY account, name");
        const Row row(query, path_, "accounts");
        while (query.step()) state_.accounts.push_back({row.text(0), AccountId(row.number<std::int32_t>(1))});
    }

    void read_owed_aborts() {
        Statement query = database_.prepare("SELECT ip, port, lobby FROM owed_aborts ORDER BY ip, port, lobby");
        const Row row(query, path_, "owed_aborts");
        while (query.step()) {
            state_.owed_aborts.push_back(
                {row.ip(0), row.number<std::uint16_t>(1), LobbyId(row.number<std::int32_t>(2))});
        }
    }

    void read_operators() {
        Statement query =
            database_.prepare("SELECT name, role, token_hash, added_by, added_at FROM operators ORDER BY name");
        const Row row(query, path_, "operators");
        while (query.step()) {
            state_.operators.push_back(
                {row.text(0), row.one_of(1, OperatorRole::admin, "role"), row.text(2), row.text(3), row.time(4)});
        }
    }

    void read_blocks() {
        Statement query = database_.prepare(
            "SELECT kind, value, reason, blocked_by, blocked_at, until FROM blocks ORDER BY kind, value");
        const Row row(query, path_, "blocks");
        while (query.step()) {
            state_.blocks.push_back({row.one_of(0, BlockKind::name, "kind"), row.text(1), row.text(2), row.text(3),
                                     row.time(4), row.time(5)});
        }
    }

    Database& database_;
    const std::string& path_;
    const KeptPast& kept_;
    UnixMs lobbies_since_;
    RecoveredState state_;
};

}  // namespace

RecoveredState read_state(Database& database, const std::string& path, const KeptPast& kept) {
    return Reader(database, path, kept).read();
}

}  // namespace muster
