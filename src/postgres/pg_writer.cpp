#include "postgres/pg_writer.h"

#include <algorithm>
#include <variant>

#include "postgres/pg_outbox.h"

namespace muster {
namespace {

// A reader never decodes much for one event.
constexpr std::size_t block_bytes_max = 64 * 1024;

// Plans are made once, mostly while the tables are empty and reading all of one looks cheapest; and they stay. The cost
// of a plan that cannot do without is beyond all bounds then, which is no reason to compile it.
constexpr const char* find_by_keys =
    "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;"
    " SET enable_mergejoin = off; SET jit = off";

std::string lobbies_text(const std::vector<LobbyId>& lobbies) {
    PgArray array;
    for (const LobbyId lobby : lobbies) array.add(lobby.value);
    return array.text();
}

}  // namespace

void PgWriter::prepare(PgConnection& connection) {
    connection.run_script(find_by_keys);
    connection.prepare("put_server",
                       "INSERT INTO muster.servers VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, NULL, $11,"
                       " $12, $13, $14)"
                       " ON CONFLICT (id) DO UPDATE SET cell = excluded.cell, ip = excluded.ip, port = excluded.port,"
                       " region = excluded.region, epoch = excluded.epoch, max_matches = excluded.max_matches,"
                       " drained_by_server = excluded.drained_by_server,"
                       " drained_by_operator = excluded.drained_by_operator,"
                       " registered_at = excluded.registered_at, removed_at = NULL, drained_by = excluded.drained_by,"
                       " drained_because = excluded.drained_because, drained_at = excluded.drained_at,"
                       " name = excluded.name");
    connection.prepare("remove_server",
                       "UPDATE muster.servers SET removed_at = $3 WHERE cell = $1 AND id = $2 AND removed_at IS NULL");
    // By its name, since the key is the lobby where there is one cell, and the cell and the lobby where there are more.
    connection.prepare("put_lists",
                       "INSERT INTO muster.player_lists (lobby, cell, matchmaker, accounts, given_at)"
                       " SELECT l, $1, m, a::integer[], g FROM"
                       " unnest($2::integer[], $3::text[], $4::text[], $5::bigint[]) AS row (l, m, a, g)"
                       " ON CONFLICT ON CONSTRAINT player_lists_pkey DO UPDATE SET matchmaker = excluded.matchmaker,"
                       " accounts = excluded.accounts, given_at = excluded.given_at");
    connection.prepare("drop_lists", "DELETE FROM muster.player_lists WHERE cell = $1 AND lobby = ANY ($2::integer[])");
    // The match is asked for by its key, in a question of its own: a join may begin with all that are open.
    connection.prepare("put_uses",
                       "INSERT INTO muster.token_uses SELECT l, a, u FROM"
                       " unnest($2::integer[], $3::integer[], $4::bigint[]) AS row (l, a, u) WHERE"
                       " (SELECT cell = $1 AND state < 4 FROM muster.matches WHERE lobby = l) ON CONFLICT DO NOTHING");
    connection.prepare("drop_uses",
                       "DELETE FROM muster.token_uses USING unnest($2::integer[], $3::integer[]) AS row (l, a)"
                       " WHERE lobby = l AND account = a"
                       " AND (SELECT cell = $1 AND state < 4 FROM muster.matches WHERE matches.lobby = l)");
    connection.prepare("end_events",
                       "UPDATE muster.matches SET untold_event = 0 WHERE cell = $1 AND lobby = ANY ($2::integer[])");
    connection.prepare("drop_matches", "DELETE FROM muster.matches WHERE cell = $1 AND lobby = ANY ($2::integer[])");
    connection.prepare("put_owed_abort",
                       "INSERT INTO muster.owed_aborts (ip, port, lobby, cell) VALUES ($1, $2, $3, $4)"
                       " ON CONFLICT DO NOTHING");
    connection.prepare("drop_owed_aborts", "DELETE FROM muster.owed_aborts WHERE cell = $1 AND ip = $2 AND port = $3");
    connection.prepare("drop_owed_abort",
                       "DELETE FROM muster.owed_aborts WHERE cell = $1 AND ip = $2 AND port = $3 AND lobby = $4");
    connection.prepare("put_numbers",
                       "INSERT INTO muster.numbers_reserved AS kept VALUES ($1, $2, $3, $4) ON CONFLICT (cell)"
                       " DO UPDATE SET server_ids_below = greatest(kept.server_ids_below, excluded.server_ids_below),"
                       " epochs_below = greatest(kept.epochs_below, excluded.epochs_below),"
                       " event_ids_below = greatest(kept.event_ids_below, excluded.event_ids_below)");
    connection.prepare("put_clock",
                       "INSERT INTO muster.world_clock (one, elapsed_game_ms, speed, configured_speed, at_ms)"
                       " VALUES (1, $1, $2, $3, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)"
                       " ON CONFLICT (one) DO UPDATE SET"
                       " elapsed_game_ms = excluded.elapsed_game_ms, speed = excluded.speed,"
                       " configured_speed = excluded.configured_speed, at_ms = excluded.at_ms");
    // A name that another cell has given an account keeps it, and comes back. An older version named no cell.
    connection.prepare("put_account",
                       "WITH put AS (INSERT INTO muster.accounts (name, account, cell) VALUES ($2, $3, $1)"
                       " ON CONFLICT (name) DO UPDATE SET account = excluded.account, cell = excluded.cell"
                       " WHERE muster.accounts.cell IN ('', excluded.cell) RETURNING 1)"
                       " SELECT $2::text WHERE NOT EXISTS (SELECT 1 FROM put)");
    connection.prepare("put_operator",
                       "INSERT INTO muster.operators VALUES ($1, $2, $3, $4, $5) ON CONFLICT (name) DO UPDATE SET"
                       " role = excluded.role, token_hash = excluded.token_hash, added_by = excluded.added_by,"
                       " added_at = excluded.added_at");
    connection.prepare("drop_operator", "DELETE FROM muster.operators WHERE name = $1");
    connection.prepare("put_block",
                       "INSERT INTO muster.blocks VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (kind, value)"
                       " DO UPDATE SET reason = excluded.reason, blocked_by = excluded.blocked_by,"
                       " blocked_at = excluded.blocked_at, until = excluded.until");
    connection.prepare("drop_block", "DELETE FROM muster.blocks WHERE kind = $1 AND value = $2");
    connection.prepare("put_host",
                       "INSERT INTO muster.hosts VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (cell, name)"
                       " DO UPDATE SET address = excluded.address, region = excluded.region,"
                       " version = excluded.version, draining = excluded.draining, joined_at = excluded.joined_at,"
                       " lost_at = excluded.lost_at");
    connection.prepare("drop_host", "DELETE FROM muster.hosts WHERE cell = $1 AND name = $2");
    connection.prepare("put_host_process",
                       "INSERT INTO muster.host_processes SELECT cell, name, $3, $4, $5::integer, $6::integer,"
                       " $7::integer, $8::integer, $9::bigint, $10::integer, $11::bigint, $12::integer, $13::integer,"
                       " $14 FROM muster.hosts WHERE cell = $1 AND name = $2 ON CONFLICT (cell, host, name)"
                       " DO UPDATE SET run = excluded.run, state = excluded.state, pid = excluded.pid,"
                       " port = excluded.port, server = excluded.server, started_at = excluded.started_at,"
                       " restarts = excluded.restarts, exit_at = excluded.exit_at, exit_code = excluded.exit_code,"
                       " exit_signal = excluded.exit_signal, exit_reason = excluded.exit_reason");
    connection.prepare("drop_host_process",
                       "DELETE FROM muster.host_processes WHERE cell = $1 AND host = $2 AND name = $3");
    connection.prepare("put_events",
                       "INSERT INTO muster.event_blocks VALUES ($1, $2, $3, $4, $5, $6, $7::bytea)"
                       " ON CONFLICT (cell, first_id) DO NOTHING");
    connection.prepare("count_shared_change", "UPDATE muster.shared_changes SET number = number + 1");
    PgMatches::prepare(connection);
    prepare_outbox(connection);
}

void PgWriter::write(PgConnection& connection, const Record& record, UnixMs now) {
    std::visit([&](const auto& one) { write_one(connection, one, now); }, record);
}

void PgWriter::finish(PgConnection& connection) {
    send_lobbies(connection);
    send_events(connection);
}

void PgWriter::begin() {
    matches_.begin();
    names_at_.clear();
    names_of_others_.clear();
}

void PgWriter::answered(std::size_t place, const PgRows& rows) {
    matches_.answered(place, rows);
    if (!std::ranges::binary_search(names_at_, place)) return;
    for (std::size_t row = 0; row < rows.size(); ++row) names_of_others_.emplace(rows.text(row, 0));
}

bool PgWriter::is_anothers(const Record& record) const {
    if (const auto* match = std::get_if<MatchRecord>(&record)) return matches_.of_others().contains(match->lobby);
    const auto* account = std::get_if<AccountRecord>(&record);
    return account && names_of_others_.contains(pg_text(account->name));
}

void PgWriter::committed() {
    durable_event_ = last_event_;
    matches_.committed();
}

void PgWriter::rolled_back() {
    forget_collected();
    matches_.rolled_back();
    events_.clear();
    last_event_ = durable_event_;
}

void PgWriter::forget_collected() {
    stages_.clear();
    lists_.clear();
    uses_.clear();
    told_.clear();
    forgotten_.clear();
}

void PgWriter::reach(PgConnection& to, LobbyId lobby, Stage stage) {
    const auto place = stages_.find(lobby);
    if (place != stages_.end() && place->second > stage) send_lobbies(to);
    stages_[lobby] = stage;
}

void PgWriter::send_lobbies(PgConnection& to) {
    send_lists(to);
    matches_.send(to);
    send_uses(to);
    if (!told_.empty()) to.send("end_events", PgValues(cell_, lobbies_text(told_)));
    if (!forgotten_.empty()) to.send("drop_matches", PgValues(cell_, lobbies_text(forgotten_)));
    for (const LobbyId lobby : forgotten_) matches_.dropped(lobby);
    forget_collected();
}

void PgWriter::send_lists(PgConnection& to) {
    std::vector<LobbyId> dropped;
    PgArray lobbies;
    PgArray matchmakers;
    PgArray accounts;
    PgArray given;
    for (const auto& [lobby, list] : lists_) {
        if (!list.players) {
            dropped.push_back(lobby);
            continue;
        }
        PgArray of_lobby;
        for (const AccountId account : list.players->accounts) of_lobby.add(account.value);
        lobbies.add(lobby.value);
        matchmakers.add(list.players->matchmaker);
        accounts.add(of_lobby.text());
        given.add(list.given_at.value);
    }
    if (!dropped.empty()) to.send("drop_lists", PgValues(cell_, lobbies_text(dropped)));
    if (!lobbies.empty())
        to.send("put_lists", PgValues(cell_, lobbies.text(), matchmakers.text(), accounts.text(), given.text()));
}

void PgWriter::send_uses(PgConnection& to) {
    PgArray used_lobbies;
    PgArray used_accounts;
    PgArray used_at;
    PgArray released_lobbies;
    PgArray released_accounts;
    for (const auto& [use, at] : uses_) {
        (at ? used_lobbies : released_lobbies).add(use.first.value);
        (at ? used_accounts : released_accounts).add(use.second.value);
        if (at) used_at.add(at->value);
    }
    if (!released_lobbies.empty())
        to.send("drop_uses", PgValues(cell_, released_lobbies.text(), released_accounts.text()));
    if (!used_lobbies.empty())
        to.send("put_uses", PgValues(cell_, used_lobbies.text(), used_accounts.text(), used_at.text()));
}

void PgWriter::send_events(PgConnection& to) {
    if (events_.empty()) return;
    PgValues values(cell_, events_.first_id(), events_.last_id(), events_.first_time().value, events_.last_time().value,
                    events_.count());
    values.add_bytes(events_.sealed());
    to.send("put_events", values);
    events_.clear();
}

void PgWriter::write_one(PgConnection& to, const ServerRecord& server, UnixMs) {
    to.send("put_server", PgValues(server.id.value, cell_, server.ip.to_string(), server.port, server.region.value,
                                   server.epoch, server.max_matches, server.drained_by_server,
                                   server.drained_by_operator, server.registered_at.value, server.drain.who,
                                   server.drain.reason, server.drain.at.value, server.name));
}

void PgWriter::write_one(PgConnection& to, const ServerRemoved& removed, UnixMs now) {
    to.send("remove_server", PgValues(cell_, removed.id.value, now.value));
}

void PgWriter::write_one(PgConnection& to, const MatchRecord& match, UnixMs) {
    // Of several states only the last is written, but an end stands between two matches of one lobby.
    if (matches_.has_end_of(match.lobby)) send_lobbies(to);
    reach(to, match.lobby, Stage::match);
    matches_.collect(match);
}

void PgWriter::write_one(PgConnection& to, const MatchForgotten& forgotten, UnixMs) {
    reach(to, forgotten.lobby, Stage::forgotten);
    forgotten_.push_back(forgotten.lobby);
}

void PgWriter::write_one(PgConnection& to, const PlayersRecord& players, UnixMs now) {
    reach(to, players.lobby, Stage::list);
    lists_[players.lobby] = {&players, now};
}

void PgWriter::write_one(PgConnection& to, const PlayersForgotten& forgotten, UnixMs) {
    reach(to, forgotten.lobby, Stage::list);
    lists_[forgotten.lobby] = {};
}

void PgWriter::write_one(PgConnection& to, const TokenUsed& use, UnixMs now) {
    reach(to, use.lobby, Stage::use);
    uses_[{use.lobby, use.account}] = now;
}

void PgWriter::write_one(PgConnection& to, const TokenReleased& released, UnixMs) {
    reach(to, released.lobby, Stage::use);
    uses_[{released.lobby, released.account}] = std::nullopt;
}

void PgWriter::write_one(PgConnection& to, const EventTold& told, UnixMs) {
    reach(to, told.lobby, Stage::told);
    told_.push_back(told.lobby);
}

void PgWriter::write_one(PgConnection& to, const AbortOwed& owed, UnixMs) {
    to.send("put_owed_abort", PgValues(owed.ip.to_string(), owed.port, owed.lobby.value, cell_));
}

void PgWriter::write_one(PgConnection& to, const AbortsTold& told, UnixMs) {
    to.send("drop_owed_aborts", PgValues(cell_, told.ip.to_string(), told.port));
}

void PgWriter::write_one(PgConnection& to, const AbortSettled& settled, UnixMs) {
    to.send("drop_owed_abort", PgValues(cell_, settled.ip.to_string(), settled.port, settled.lobby.value));
}

void PgWriter::write_one(PgConnection& to, const NumbersReserved& numbers, UnixMs) {
    to.send("put_numbers", PgValues(cell_, numbers.server_ids_below, numbers.epochs_below, numbers.event_ids_below));
}

void PgWriter::write_one(PgConnection& to, const ClockRecord& clock, UnixMs) {
    to.send("put_clock", PgValues(clock.elapsed_game_ms, clock.speed, clock.configured_speed));
}

void PgWriter::write_one(PgConnection& to, const AccountRecord& account, UnixMs) {
    names_at_.push_back(to.send("put_account", PgValues(cell_, account.name, account.account.value)));
}

void PgWriter::write_one(PgConnection& to, const OperatorRecord& added, UnixMs) {
    to.send("put_operator",
            PgValues(added.name, static_cast<int>(added.role), added.token_hash, added.added_by, added.added_at.value));
    to.send("count_shared_change", PgValues());
}

void PgWriter::write_one(PgConnection& to, const OperatorRemoved& removed, UnixMs) {
    to.send("drop_operator", PgValues(removed.name));
    to.send("count_shared_change", PgValues());
}

void PgWriter::write_one(PgConnection& to, const BlockRecord& block, UnixMs) {
    to.send("put_block", PgValues(static_cast<int>(block.kind), block.value, block.reason, block.blocked_by,
                                  block.blocked_at.value, block.until.value));
    to.send("count_shared_change", PgValues());
}

void PgWriter::write_one(PgConnection& to, const BlockRemoved& removed, UnixMs) {
    to.send("drop_block", PgValues(static_cast<int>(removed.kind), removed.value));
    to.send("count_shared_change", PgValues());
}

void PgWriter::write_one(PgConnection& to, const HostRecord& host, UnixMs) {
    to.send("put_host", PgValues(cell_, host.name, host.address, host.region.value, host.version, host.draining,
                                 host.joined_at.value, host.lost_at.value));
}

void PgWriter::write_one(PgConnection& to, const HostForgotten& forgotten, UnixMs) {
    to.send("drop_host", PgValues(cell_, forgotten.name));
}

void PgWriter::write_one(PgConnection& to, const HostProcessRecord& process, UnixMs) {
    to.send("put_host_process",
            PgValues(cell_, process.host, process.name, process.run, static_cast<int>(process.state), process.pid,
                     process.port, process.server.value, process.started_at.value, process.restarts,
                     process.exit_at.value, process.exit_code, process.exit_signal, process.exit_reason));
}

void PgWriter::write_one(PgConnection& to, const HostProcessForgotten& forgotten, UnixMs) {
    to.send("drop_host_process", PgValues(cell_, forgotten.host, forgotten.name));
}

void PgWriter::write_one(PgConnection& to, const PlayerNotice& notice, UnixMs) {
    send_to_outbox(to, cell_, notice);
}

void PgWriter::write_one(PgConnection& to, const NoticeTold& told, UnixMs) {
    send_told(to, cell_, told);
}

void PgWriter::write_one(PgConnection& to, const EventRecord& event, UnixMs) {
    if (event.id <= last_event_) return;
    last_event_ = event.id;
    events_.add(event);
    if (events_.bytes().size() >= block_bytes_max) send_events(to);
}

}  // namespace muster
