#include "store/recovery.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/history.h"
#include "store/latest_state.h"
#include "store/store_file.h"
#include "store/stored_row.h"

namespace muster {
namespace {

constexpr UnixMs since_ever{std::numeric_limits<std::int64_t>::min()};

// So many open matches are read by two threads, each half of them.
constexpr std::size_t read_by_two_from = 20'000;

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
        return std::min(kept_.lobbies_since, end_of_latest(database_, kept_.lobbies_least).value_or(since_ever));
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
        const std::size_t open = count("SELECT count(*) FROM matches WHERE open = 1");
        if (open == 0) return;
        state_.matches.reserve(open);
        const std::int64_t first = open_lobby("ASC", 0);
        const std::int64_t last = open_lobby("DESC", 0);
        // Where at least half of the lobbies are open, all rows between are read in a row: no seek for each.
        const bool is_dense = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) < 2 * open;
        if (open < read_by_two_from) return read_matches({first, last, is_dense}, database_, state_.matches);
        const std::int64_t middle = open_lobby("ASC", open / 2);
        std::vector<MatchRecord> later;
        later.reserve(open - open / 2);
        auto other = std::async(std::launch::async, [&] {
            Database reader = database_.reader();
            reader.set_busy_timeout_ms(StoreFile::busy_timeout_ms);
            read_matches({middle, last, is_dense}, reader, later);
        });
        read_matches({first, middle - 1, is_dense}, database_, state_.matches);
        other.get();
        std::ranges::move(later, std::back_inserter(state_.matches));
    }
    std::int64_t open_lobby(std::string_view order, std::size_t place) {
        return database_.integer(
            fmt::format("SELECT lobby FROM matches WHERE open = 1 ORDER BY lobby {} LIMIT 1 OFFSET {}", order, place));
    }
    struct Lobbies {
        std::int64_t first;
        std::int64_t last;
        bool is_dense;
    };
    // Any thread that has the database and `matches` for itself.
    void read_matches(const Lobbies& lobbies, Database& database, std::vector<MatchRecord>& matches) const {
        Statement query =
            database.prepare(fmt::format("SELECT {} FROM matches {} WHERE open = 1 AND (state < 4 OR ended_at >= ?1)"
                                         " AND lobby BETWEEN ?2 AND ?3 ORDER BY lobby",
                                         match_columns, lobbies.is_dense ? "NOT INDEXED" : "INDEXED BY matches_open"));
        query.bind(lobbies_since_.value, lobbies.first, lobbies.last);
        while (query.step()) {
            RowFields fields(query);
            read_match(Row(fields, {path_, "matches"}), matches.emplace_back());
        }
    }

    void read_over() {
        each(
            "matches",
            fmt::format("SELECT {} FROM matches WHERE state >= 4 AND ended_at >= ?1 ORDER BY ended_at DESC LIMIT ?2",
                        over_columns),
            [&](const Row& row) { state_.over.push_back(over_of(row)); }, lobbies_since_.value, kept_.lobbies_most);
        // Latest first, but for those of one millisecond. A lobby is over once.
        std::ranges::reverse(state_.over);
        const auto in_order = [](const LobbyOver& one, const LobbyOver& other) {
            return one.at != other.at ? one.at < other.at : one.lobby < other.lobby;
        };
        if (!std::ranges::is_sorted(state_.over, in_order)) std::ranges::sort(state_.over, in_order);
    }

    // Of the matches that are not over. Both are in the order of their lobbies.
    void read_token_uses() {
        Statement query = database_.prepare(
            fmt::format("SELECT {} FROM token_uses WHERE lobby >= ?1 ORDER BY lobby, account", use_columns));
        for (auto match = not_over_from(state_.matches.begin()); match != state_.matches.end();) {
            query.bind(match->lobby.value);
            if (!read_uses_from(query, match)) break;
        }
    }
    using MatchPlace = std::vector<MatchRecord>::const_iterator;
    MatchPlace not_over_from(MatchPlace place) const {
        return std::find_if(place, state_.matches.end(), [](const MatchRecord& one) { return !is_over(one.state); });
    }
    // True when so many uses of other matches follow that those of the next one are better sought; false at the end.
    bool read_uses_from(Statement& query, MatchPlace& match) {
        constexpr int passed_max = 8;
        for (int passed = 0; passed <= passed_max;) {
            if (!query.step()) return false;
            const std::int64_t lobby = query.integer(0);
            while (match->lobby.value < lobby) {
                match = not_over_from(match + 1);
                if (match == state_.matches.end()) return false;
            }
            if (match->lobby.value == lobby) {
                RowFields fields(query);
                state_.tokens_used.push_back(use_of(Row(fields, {path_, "token_uses"})));
                passed = 0;
            } else {
                ++passed;
            }
        }
        return true;
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

struct LobbyEnd {
    std::int64_t at = 0;
    std::int64_t lobby = 0;
    friend auto operator<=>(const LobbyEnd&, const LobbyEnd&) = default;
};

// Of the latest matches that are over, at most `limit`, in ascending order. The index has no order by lobby: when
// half a million matches end in the same millisecond, they are chosen from here, and only those are read whole.
std::vector<LobbyEnd> latest_ends(Database& database, std::size_t limit) {
    if (limit == 0) return {};
    const UnixMs since = end_of_latest(database, limit).value_or(since_ever);
    Statement query = database.prepare("SELECT ended_at, lobby FROM matches WHERE state >= 4 AND ended_at >= ?1");
    query.bind(since.value);
    std::vector<LobbyEnd> latest;
    const auto keep_latest = [&] {
        if (latest.size() <= limit) return;
        std::ranges::nth_element(latest, latest.begin() + static_cast<std::ptrdiff_t>(limit), std::greater());
        latest.resize(limit);
    };
    while (query.step()) {
        latest.push_back({query.integer(0), query.integer(1)});
        if (latest.size() == 2 * limit) keep_latest();
    }
    keep_latest();
    std::ranges::sort(latest);
    return latest;
}

}  // namespace

RecoveredState read_state(Database& database, const std::string& path, const KeptPast& kept) {
    return Reader(database, path, kept).read();
}

PastMatches read_latest_over(Database& database, const std::string& path, std::size_t limit) {
    PastMatches past;
    Statement row = database.prepare(fmt::format("SELECT {} FROM matches WHERE lobby = ?1", match_columns));
    for (const LobbyEnd& end : latest_ends(database, limit)) {
        row.bind(end.lobby);
        while (row.step()) {
            RowFields fields(row);
            read_match(Row(fields, {path, "matches"}), past.matches.emplace_back());
        }
    }
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
