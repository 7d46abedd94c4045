#include "store/recovery.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "store/history.h"
#include "store/stored_row.h"

namespace muster {
namespace {

// The fields of the row that a statement stands on, one after the other.
class RowFields {
public:
    explicit RowFields(const Statement& statement) : statement_(statement) {}

    std::int64_t integer() { return statement_.integer(next_++); }
    bool flag() { return integer() != 0; }
    std::string bytes() { return statement_.text(next_++); }

private:
    const Statement& statement_;
    int next_ = 0;
};
using Row = StoredRow<RowFields>;

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
        read_hosts();
        read_host_processes();
        return std::move(state_);
    }

private:
    UnixMs remembered_since() {
        if (kept_.lobbies_least == 0) return kept_.lobbies_since;
        constexpr UnixMs always{std::numeric_limits<std::int64_t>::min()};
        return std::min(kept_.lobbies_since, end_of_latest(database_, kept_.lobbies_least).value_or(always));
    }

    // Large tables get their room at once, so that their records do not move each time it doubles.
    std::size_t count(const std::string& query) { return static_cast<std::size_t>(database_.integer(query)); }

    // Calls visit(row) for each row of the query, which is of that table.
    template <class Visit, class... Values>
    void each(std::string_view table, const std::string& sql, Visit visit, Values... values) {
        Statement query = database_.prepare(sql);
        if constexpr (sizeof...(values) > 0) query.bind(values...);
        while (query.step()) {
            RowFields fields(query);
            visit(Row(fields, {path_, table}));
        }
    }

    void read_numbers() {
        each("numbers_reserved", fmt::format("SELECT {} FROM numbers_reserved", numbers_columns),
             [&](const Row& row) { state_.numbers = numbers_of(row); });
    }

    void read_clock() {
        each("world_clock", fmt::format("SELECT {} FROM world_clock", clock_columns), [&](const Row& row) {
            state_.has_clock = true;
            state_.clock = clock_of(row);
        });
    }

    void read_servers() {
        state_.servers.reserve(count("SELECT count(*) FROM servers WHERE removed_at IS NULL"));
        each("servers", fmt::format("SELECT {} FROM servers WHERE removed_at IS NULL ORDER BY id", server_columns),
             [&](const Row& row) { read_server(row, state_.servers.emplace_back()); });
    }

    void read_matches() {
        state_.matches.reserve(count("SELECT count(*) FROM matches WHERE open = 1"));
        each(
            "matches",
            fmt::format("SELECT {} FROM matches WHERE open = 1 AND (state < 4 OR ended_at >= ?1) ORDER BY lobby",
                        match_columns),
            [&](const Row& row) { read_match(row, state_.matches.emplace_back()); }, lobbies_since_.value);
    }

    void read_over() {
        each(
            "matches",
            fmt::format("SELECT {} FROM matches WHERE state >= 4 AND ended_at >= ?1 ORDER BY ended_at DESC LIMIT ?2",
                        over_columns),
            [&](const Row& row) { state_.over.push_back(over_of(row)); }, lobbies_since_.value, kept_.lobbies_most);
        std::sort(state_.over.begin(), state_.over.end());
    }

    void read_token_uses() {
        each("token_uses",
             fmt::format("SELECT {} FROM token_uses WHERE lobby IN (SELECT lobby FROM matches WHERE open = 1 AND"
                         " state < 4) ORDER BY lobby, account",
                         use_columns),
             [&](const Row& row) { state_.tokens_used.push_back(use_of(row)); });
    }

    void read_players() {
        each(
            "player_lists",
            "SELECT lobby, matchmaker FROM player_lists WHERE over = 0 AND (given_at >= ?1"
            " OR EXISTS (SELECT 1 FROM matches WHERE matches.lobby = player_lists.lobby AND state < 4))"
            " ORDER BY lobby",
            [&](Row row) {
                PlayersRecord& players = state_.players.emplace_back();
                players.lobby = LobbyId(row.number<std::int32_t>());
                players.matchmaker = row.text();
            },
            kept_.since.value);
        Statement accounts = database_.prepare("SELECT account FROM match_players WHERE lobby = ?1 ORDER BY position");
        for (PlayersRecord& players : state_.players) {
            accounts.bind(players.lobby.value);
            while (accounts.step()) {
                RowFields fields(accounts);
                players.accounts.emplace_back(Row(fields, {path_, "match_players"}).number<std::int32_t>());
            }
        }
    }

    void read_accounts() {
        each("accounts", fmt::format("SELECT {} FROM accounts ORDER BY account, name", account_columns),
             [&](const Row& row) { state_.accounts.push_back(account_of(row)); });
    }

    void read_owed_aborts() {
        each("owed_aborts", fmt::format("SELECT {} FROM owed_aborts ORDER BY ip, port, lobby", owed_abort_columns),
             [&](const Row& row) { state_.owed_aborts.push_back(owed_abort_of(row)); });
    }

    void read_operators() {
        each("operators", fmt::format("SELECT {} FROM operators ORDER BY name", operator_columns),
             [&](const Row& row) { state_.operators.push_back(operator_of(row)); });
    }

    void read_blocks() {
        each("blocks", fmt::format("SELECT {} FROM blocks ORDER BY kind, value", block_columns),
             [&](const Row& row) { state_.blocks.push_back(block_of(row)); });
    }

    void read_hosts() {
        each("hosts", fmt::format("SELECT {} FROM hosts ORDER BY name", host_columns),
             [&](const Row& row) { state_.hosts.push_back(host_of(row)); });
    }

    void read_host_processes() {
        each("host_processes", fmt::format("SELECT {} FROM host_processes ORDER BY host, name", host_process_columns),
             [&](const Row& row) { state_.host_processes.push_back(host_process_of(row)); });
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

PastMatches read_latest_over(Database& database, const std::string& path, std::size_t limit) {
    PastMatches past;
    Statement matches = database.prepare(fmt::format(
        "SELECT {} FROM matches WHERE state >= 4 ORDER BY ended_at DESC, lobby DESC LIMIT ?1", match_columns));
    matches.bind(static_cast<std::int64_t>(limit));
    while (matches.step()) {
        RowFields fields(matches);
        read_match(Row(fields, {path, "matches"}), past.matches.emplace_back());
    }
    std::reverse(past.matches.begin(), past.matches.end());
    Statement uses = database.prepare(
        fmt::format("SELECT {}, used_at FROM token_uses WHERE lobby = ?1 ORDER BY used_at, account", use_columns));
    for (const MatchRecord& match : past.matches) {
        uses.bind(match.lobby.value);
        while (uses.step()) {
            RowFields fields(uses);
            const TokenUsed used = use_of(Row(fields, {path, "token_uses"}));
            past.uses.push_back({used, UnixMs{fields.integer()}});
        }
    }
    return past;
}

}  // namespace muster
