#include "postgres/pg_recovery.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "postgres/pg_clock.h"
#include "store/store.h"
#include "store/stored_row.h"

namespace muster {
namespace {

using Row = StoredRow<PgCopyRow>;

Row row_of(PgCopyRow& fields, std::string_view table) {
    return {fields, {"the database", table}};
}

std::vector<AccountId> accounts(const Row& row, std::string_view list) {
    std::vector<AccountId> all;
    while (!list.empty()) {
        std::int32_t account = 0;
        const auto read = std::from_chars(list.data(), list.data() + list.size(), account);
        if (read.ec != std::errc()) row.refuse("an account that is no number");
        all.emplace_back(account);
        list.remove_prefix(static_cast<std::size_t>(read.ptr - list.data()));
        if (!list.empty()) list.remove_prefix(1);
    }
    return all;
}

class Reader {
public:
    Reader(PgConnection& connection, const std::string& cell, const KeptPast& kept, bool shares_clock)
        : connection_(connection), cell_(quoted(cell)), kept_(kept), shares_clock_(shares_clock) {}

    RecoveredState read() {
        return read_by([this] { read_all(); });
    }
    RecoveredState read_rules() {
        return read_by([this] {
            read_operators();
            read_blocks();
        });
    }

private:
    template <class Read>
    RecoveredState read_by(Read read) {
        connection_.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        try {
            // Indexes have the matches in the order that is asked for: sorting hundreds of thousands takes longer.
            connection_.run_script("SET LOCAL enable_sort = off; SET LOCAL jit = off");
            read();
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
        read_hosts();
        read_host_processes();
    }

    std::int64_t remembered_since() {
        if (kept_.lobbies_least == 0) return kept_.lobbies_since.value;
        const PgRows found = connection_.run(
            "SELECT ended_at FROM muster.matches WHERE ended_at > 0 ORDER BY ended_at DESC LIMIT 1 OFFSET $1",
            PgValues(static_cast<std::int64_t>(kept_.lobbies_least - 1)));
        if (found.empty()) return std::numeric_limits<std::int64_t>::min();
        return std::min(kept_.lobbies_since.value, found.integer(0, 0));
    }

    void read_numbers() {
        connection_.copy(
            fmt::format("SELECT {} FROM muster.numbers_reserved WHERE cell = {}", numbers_columns, cell_),
            [&](PgCopyRow& fields) { state_.numbers = numbers_of(row_of(fields, "muster.numbers_reserved")); });
    }

    void read_clock() {
        const std::string stored = fmt::format("SELECT {} FROM muster.world_clock", clock_columns);
        connection_.copy(shares_clock_ ? pg_clock_now() : stored, [&](PgCopyRow& fields) {
            state_.has_clock = true;
            state_.clock = clock_of(row_of(fields, "muster.world_clock"));
        });
    }

    void read_servers() {
        connection_.copy(
            fmt::format("SELECT {} FROM muster.servers WHERE removed_at IS NULL AND cell = {} ORDER BY id",
                        server_columns, cell_),
            [&](PgCopyRow& fields) { read_server(row_of(fields, "muster.servers"), state_.servers.emplace_back()); });
    }

    void read_matches() {
        connection_.copy(
            fmt::format("SELECT {} FROM muster.matches WHERE cell = {} AND (ended_at = 0 OR untold_event <> 0)"
                        " AND (state < 4 OR untold_event <> 0) AND (state < 4 OR ended_at >= {}) ORDER BY lobby",
                        match_columns, cell_, lobbies_since_),
            [&](PgCopyRow& fields) { read_match(row_of(fields, "muster.matches"), state_.matches.emplace_back()); });
    }

    void read_over() {
        connection_.copy(fmt::format("SELECT {} FROM muster.matches WHERE cell = {} AND ended_at > 0 AND state >= 4"
                                     " AND ended_at >= {}"
                                     " ORDER BY ended_at DESC, lobby DESC LIMIT {}",
                                     over_columns, cell_, lobbies_since_, kept_.lobbies_most),
                         [&](PgCopyRow& fields) { state_.over.push_back(over_of(row_of(fields, "muster.matches"))); });
        std::sort(state_.over.begin(), state_.over.end());
    }

    void read_token_uses() {
        connection_.copy(
            fmt::format("SELECT {} FROM muster.token_uses JOIN muster.matches USING (lobby)"
                        " WHERE ended_at = 0 AND state < 4 AND cell = {} ORDER BY lobby, account",
                        use_columns, cell_),
            [&](PgCopyRow& fields) { state_.tokens_used.push_back(use_of(row_of(fields, "muster.token_uses"))); });
    }

    void read_players() {
        connection_.copy(
            fmt::format("SELECT lobby, matchmaker, array_to_string(accounts, ',') FROM muster.player_lists AS list"
                        " WHERE cell = {} AND (given_at >= {} OR EXISTS (SELECT 1 FROM muster.matches"
                        " WHERE matches.lobby = list.lobby AND matches.cell = list.cell AND state < 4)) ORDER BY lobby",
                        cell_, kept_.since.value),
            [&](PgCopyRow& fields) {
                Row row = row_of(fields, "muster.player_lists");
                PlayersRecord& players = state_.players.emplace_back();
                players.lobby = LobbyId(row.number<std::int32_t>());
                players.matchmaker = row.text();
                players.accounts = accounts(row, fields.bytes());
            });
    }

    void read_accounts() {
        connection_.copy(
            fmt::format("SELECT {} FROM muster.accounts ORDER BY account, name COLLATE \"C\"", account_columns),
            [&](PgCopyRow& fields) { state_.accounts.push_back(account_of(row_of(fields, "muster.accounts"))); });
    }

    void read_owed_aborts() {
        connection_.copy(
            fmt::format("SELECT {} FROM muster.owed_aborts WHERE cell = {} ORDER BY ip COLLATE \"C\", port, lobby",
                        owed_abort_columns, cell_),
            [&](PgCopyRow& fields) {
                state_.owed_aborts.push_back(owed_abort_of(row_of(fields, "muster.owed_aborts")));
            });
    }

    void read_operators() {
        connection_.copy(
            fmt::format("SELECT {} FROM muster.operators ORDER BY name COLLATE \"C\"", operator_columns),
            [&](PgCopyRow& fields) { state_.operators.push_back(operator_of(row_of(fields, "muster.operators"))); });
    }

    void read_blocks() {
        connection_.copy(
            fmt::format("SELECT {} FROM muster.blocks ORDER BY kind, value COLLATE \"C\"", block_columns),
            [&](PgCopyRow& fields) { state_.blocks.push_back(block_of(row_of(fields, "muster.blocks"))); });
    }

    void read_hosts() {
        connection_.copy(
            fmt::format("SELECT {} FROM muster.hosts WHERE cell = {} ORDER BY name COLLATE \"C\"", host_columns, cell_),
            [&](PgCopyRow& fields) { state_.hosts.push_back(host_of(row_of(fields, "muster.hosts"))); });
    }

    void read_host_processes() {
        connection_.copy(fmt::format("SELECT {} FROM muster.host_processes WHERE cell = {} ORDER BY host COLLATE \"C\","
                                     " name COLLATE \"C\"",
                                     host_process_columns, cell_),
                         [&](PgCopyRow& fields) {
                             state_.host_processes.push_back(host_process_of(row_of(fields, "muster.host_processes")));
                         });
    }

    PgConnection& connection_;
    const std::string cell_;
    const KeptPast& kept_;
    const bool shares_clock_;
    std::int64_t lobbies_since_ = 0;
    RecoveredState state_;
};

}  // namespace

RecoveredState read_pg_state(PgConnection& connection, const std::string& cell, const KeptPast& kept,
                             bool shares_clock) {
    return Reader(connection, cell, kept, shares_clock).read();
}

SharedRules read_pg_rules(PgConnection& connection) {
    RecoveredState state = Reader(connection, {}, KeptPast(UnixMs{0}), false).read_rules();
    return {std::move(state.operators), std::move(state.blocks)};
}

std::int64_t shared_rules_number(PgConnection& connection) {
    return connection.run("SELECT number FROM muster.shared_changes").integer(0, 0);
}

}  // namespace muster
