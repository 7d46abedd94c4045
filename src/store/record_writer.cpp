#include "store/record_writer.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "store/latest_state.h"

namespace muster {
namespace {

// Times that did not happen yet are null in the file.
std::optional<std::int64_t> when(UnixMs time) {
    if (time.value == 0) return std::nullopt;
    return time.value;
}

}  // namespace

RecordWriter::RecordWriter(Database& database)
    : database_(database),
      events_(database),
      put_server_(database.prepare(
          "INSERT INTO servers (id, ip, port, region, epoch, max_matches, drained_by_server, drained_by_operator,"
          " registered_at, removed_at, drained_by, drained_because, drained_at, name)"
          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, NULL, ?10, ?11, ?12, ?13)"
          " ON CONFLICT (id) DO UPDATE SET ip = ?2, port = ?3, region = ?4, epoch = ?5, max_matches = ?6,"
          " drained_by_server = ?7, drained_by_operator = ?8, registered_at = ?9, removed_at = NULL,"
          " drained_by = ?10, drained_because = ?11, drained_at = ?12, name = ?13")),
      remove_server_(database.prepare("UPDATE servers SET removed_at = ?2 WHERE id = ?1 AND removed_at IS NULL")),
      // What may still change once a server has been asked, of a match that is open and stays so: no index changes.
      change_match_(database.prepare(
          "UPDATE matches SET state = ?2, reason = ?3, token = ?4, allocated_at = ?5, ready_at = ?6, started_at = ?7,"
          " ended_at = ?8, untold_event = ?9"
          " WHERE lobby = ?1 AND state < 4 AND server = ?10 AND server_epoch = ?11 AND requested_at = ?12")),
      put_match_(database.prepare(
          "INSERT INTO matches (lobby, matchmaker, region, game_type, game_mode, player_count, average_rating, state,"
          " reason, server, server_epoch, server_ip, server_port, token, requested_at, allocated_at, ready_at,"
          " started_at, ended_at, untold_event, open)"
          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)"
          " ON CONFLICT (lobby) DO UPDATE SET matchmaker = ?2, region = ?3, game_type = ?4, game_mode = ?5,"
          " player_count = ?6, average_rating = ?7, state = ?8, reason = ?9, server = ?10, server_epoch = ?11,"
          " server_ip = ?12, server_port = ?13, token = ?14, requested_at = ?15, allocated_at = ?16, ready_at = ?17,"
          " started_at = ?18, ended_at = ?19, untold_event = ?20, open = ?21")),
      find_old_use_(database.prepare("SELECT 1 FROM token_uses JOIN matches USING (lobby)"
                                     " WHERE token_uses.lobby = ?1 AND state >= 4 LIMIT 1")),
      drop_old_uses_(database.prepare("DELETE FROM token_uses WHERE lobby = ?1")),
      find_open_list_(database.prepare("SELECT 1 FROM player_lists WHERE lobby = ?1 AND over = 0")),
      end_player_list_(database.prepare("UPDATE player_lists SET over = 1 WHERE lobby = ?1")),
      keep_failed_request_(database.prepare(
          "INSERT INTO failed_requests (lobby, matchmaker, region, game_type, game_mode, player_count,"
          " average_rating, reason, server, server_ip, server_port, requested_at, failed_at)"
          " SELECT lobby, matchmaker, region, game_type, game_mode, player_count, average_rating, reason, server,"
          " server_ip, server_port, requested_at, coalesce(ended_at, ?2) FROM matches WHERE lobby = ?1")),
      drop_match_(database.prepare("DELETE FROM matches WHERE lobby = ?1")),
      put_player_list_(
          database.prepare("INSERT INTO player_lists (lobby, matchmaker, given_at, over) VALUES (?1, ?2, ?3, 0)"
                           " ON CONFLICT (lobby) DO UPDATE SET matchmaker = ?2, given_at = ?3, over = 0")),
      find_player_(database.prepare("SELECT 1 FROM match_players WHERE lobby = ?1 LIMIT 1")),
      drop_players_(database.prepare("DELETE FROM match_players WHERE lobby = ?1")),
      put_player_(database.prepare("INSERT INTO match_players (lobby, position, account) VALUES (?1, ?2, ?3)")),
      drop_player_list_(database.prepare("DELETE FROM player_lists WHERE lobby = ?1 AND over = 0")),
      put_token_use_(database.prepare("INSERT OR IGNORE INTO token_uses (lobby, account, used_at)"
                                      " SELECT lobby, ?2, ?3 FROM matches WHERE lobby = ?1 AND state < 4")),
      drop_token_use_(database.prepare("DELETE FROM token_uses WHERE lobby = ?1 AND account = ?2"
                                       " AND EXISTS (SELECT 1 FROM matches WHERE lobby = ?1 AND state < 4)")),
      end_event_(database.prepare("UPDATE matches SET untold_event = 0, open = state < 4 WHERE lobby = ?1")),
      put_owed_abort_(database.prepare("INSERT OR IGNORE INTO owed_aborts (ip, port, lobby) VALUES (?1, ?2, ?3)")),
      drop_owed_aborts_(database.prepare("DELETE FROM owed_aborts WHERE ip = ?1 AND port = ?2")),
      drop_owed_abort_(database.prepare("DELETE FROM owed_aborts WHERE ip = ?1 AND port = ?2 AND lobby = ?3")),
      put_numbers_(database.prepare(
          "INSERT INTO numbers_reserved (one, server_ids_below, epochs_below, event_ids_below) VALUES (1, ?1, ?2, ?3)"
          " ON CONFLICT (one) DO UPDATE SET server_ids_below = max(server_ids_below, ?1),"
          " epochs_below = max(epochs_below, ?2), event_ids_below = max(event_ids_below, ?3)")),
      put_clock_(database.prepare(
          "INSERT OR REPLACE INTO world_clock (one, elapsed_game_ms, speed, configured_speed) VALUES (1, ?1, ?2, ?3)")),
      put_account_(database.prepare("INSERT OR REPLACE INTO accounts (name, account) VALUES (?1, ?2)")),
      put_operator_(database.prepare("INSERT OR REPLACE INTO operators (name, role, token_hash, added_by, added_at)"
                                     " VALUES (?1, ?2, ?3, ?4, ?5)")),
      drop_operator_(database.prepare("DELETE FROM operators WHERE name = ?1")),
      put_block_(database.prepare("INSERT OR REPLACE INTO blocks (kind, value, reason, blocked_by, blocked_at, until)"
                                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6)")),
      drop_block_(database.prepare("DELETE FROM blocks WHERE kind = ?1 AND value = ?2")),
      put_host_(database.prepare(
          "INSERT INTO hosts (name, address, region, version, draining, joined_at, lost_at)"
          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (name) DO UPDATE SET address = ?2, region = ?3,"
          " version = ?4, draining = ?5, joined_at = ?6, lost_at = ?7")),
      drop_host_(database.prepare("DELETE FROM hosts WHERE name = ?1")),
      put_host_process_(database.prepare(
          "INSERT INTO host_processes (host, name, run, state, pid, port, server, started_at, restarts, exit_at,"
          " exit_code, exit_signal, exit_reason)"
          " SELECT name, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13 FROM hosts WHERE name = ?1"
          " ON CONFLICT (host, name) DO UPDATE SET run = ?3, state = ?4, pid = ?5, port = ?6, server = ?7,"
          " started_at = ?8, restarts = ?9, exit_at = ?10, exit_code = ?11, exit_signal = ?12, exit_reason = ?13")),
      drop_host_process_(database.prepare("DELETE FROM host_processes WHERE host = ?1 AND name = ?2")) {}

void RecordWriter::write(const Record& record, UnixMs now) {
    std::visit([&](const auto& one) { write_one(one, now); }, record);
}

void RecordWriter::finish() {
    // In the order of the table: neighbours share a page.
    std::erase_if(put_off_, [](const PutOff& one) { return one.match == nullptr; });
    std::sort(put_off_.begin(), put_off_.end(),
              [](const PutOff& one, const PutOff& other) { return one.match->lobby < other.match->lobby; });
    for (PutOff& put_off : put_off_) put(put_off);
    put_off_.clear();
    put_off_of_.clear();
    events_.flush();
}

void RecordWriter::committed() {
    events_.committed();
}

void RecordWriter::rolled_back() {
    put_off_.clear();
    put_off_of_.clear();
    events_.rolled_back();
}

void RecordWriter::write_one(const ServerRecord& server, UnixMs) {
    put_server_.run(server.id.value, server.ip.to_string(), server.port, server.region.value, server.epoch,
                    server.max_matches, server.drained_by_server, server.drained_by_operator,
                    server.registered_at.value, server.drain.who, server.drain.reason, server.drain.at.value,
                    server.name);
}

void RecordWriter::write_one(const ServerRemoved& removed, UnixMs now) {
    remove_server_.run(removed.id.value, now.value);
}

void RecordWriter::write_one(const MatchRecord& match, UnixMs) {
    const auto [place, is_new] = put_off_of_.try_emplace(match.lobby, put_off_.size());
    if (!is_new) {
        PutOff& before = put_off_[place->second];
        if (before.match && !is_over(before.match->state)) {
            before = {&match, true};
            return;
        }
        put(before);
        place->second = put_off_.size();
    }
    put_off_.push_back({&match, false});
}

void RecordWriter::settle(LobbyId lobby) {
    if (const auto place = put_off_of_.find(lobby); place != put_off_of_.end()) put(put_off_[place->second]);
}

void RecordWriter::put(PutOff& put_off) {
    if (!put_off.match) return;
    const MatchRecord& match = *std::exchange(put_off.match, nullptr);
    const bool over = is_over(match.state);
    const bool open = !over || match.untold_event != 0;
    const std::string_view token = over ? std::string_view() : std::string_view(match.token);
    const auto ended_at = over ? std::optional(match.ended_at.value) : when(match.ended_at);
    if (over) run_if_any(find_open_list_, end_player_list_, match.lobby);
    // The record of an offer is nearly always the first of its match.
    if (open && match.state != MatchState::offering) {
        change_match_.run(match.lobby.value, static_cast<int>(match.state), match.reason, token,
                          when(match.allocated_at), when(match.ready_at), when(match.started_at), ended_at,
                          match.untold_event, match.server.value, match.server_epoch, when(match.requested_at));
        if (database_.changes() > 0) return;
    }
    // A lobby that comes again after its end starts without the uses of the match before.
    if (!over || put_off.was_alive) run_if_any(find_old_use_, drop_old_uses_, match.lobby);
    put_match_.run(match.lobby.value, match.matchmaker, match.region.value, match.game_type, match.game_mode,
                   match.player_count, match.average_rating, static_cast<int>(match.state), match.reason,
                   match.server.value, match.server_epoch, match.server_ip, match.server_port, token,
                   when(match.requested_at), when(match.allocated_at), when(match.ready_at), when(match.started_at),
                   ended_at, match.untold_event, open);
}

void RecordWriter::run_if_any(Statement& find, Statement& change, LobbyId lobby) {
    find.bind(lobby.value);
    if (!find.step()) return;
    find.reset();
    change.run(lobby.value);
}

void RecordWriter::write_one(const MatchForgotten& forgotten, UnixMs now) {
    settle(forgotten.lobby);
    keep_failed_request_.run(forgotten.lobby.value, now.value);
    drop_match_.run(forgotten.lobby.value);
}

void RecordWriter::write_one(const PlayersRecord& players, UnixMs now) {
    settle(players.lobby);
    put_player_list_.run(players.lobby.value, players.matchmaker, now.value);
    run_if_any(find_player_, drop_players_, players.lobby);
    std::int64_t position = 0;
    for (const AccountId account : players.accounts) put_player_.run(players.lobby.value, ++position, account.value);
}

void RecordWriter::write_one(const TokenUsed& use, UnixMs now) {
    settle(use.lobby);
    put_token_use_.run(use.lobby.value, use.account.value, now.value);
}

void RecordWriter::write_one(const PlayersForgotten& forgotten, UnixMs) {
    settle(forgotten.lobby);
    drop_player_list_.run(forgotten.lobby.value);
}

void RecordWriter::write_one(const TokenReleased& released, UnixMs) {
    settle(released.lobby);
    drop_token_use_.run(released.lobby.value, released.account.value);
}

void RecordWriter::write_one(const EventTold& told, UnixMs) {
    settle(told.lobby);
    end_event_.run(told.lobby.value);
}

void RecordWriter::write_one(const AbortOwed& owed, UnixMs) {
    put_owed_abort_.run(owed.ip.to_string(), owed.port, owed.lobby.value);
}

void RecordWriter::write_one(const AbortsTold& told, UnixMs) {
    drop_owed_aborts_.run(told.ip.to_string(), told.port);
}

void RecordWriter::write_one(const AbortSettled& settled, UnixMs) {
    drop_owed_abort_.run(settled.ip.to_string(), settled.port, settled.lobby.value);
}

void RecordWriter::write_one(const NumbersReserved& numbers, UnixMs) {
    put_numbers_.run(numbers.server_ids_below, numbers.epochs_below, numbers.event_ids_below);
}

void RecordWriter::write_one(const ClockRecord& clock, UnixMs) {
    put_clock_.run(clock.elapsed_game_ms, clock.speed, clock.configured_speed);
}

void RecordWriter::write_one(const AccountRecord& account, UnixMs) {
    put_account_.run(account.name, account.account.value);
}

void RecordWriter::write_one(const EventRecord& event, UnixMs) {
    events_.add(event);
}

void RecordWriter::write_one(const OperatorRecord& added, UnixMs) {
    put_operator_.run(added.name, static_cast<int>(added.role), added.token_hash, added.added_by, added.added_at.value);
}

void RecordWriter::write_one(const OperatorRemoved& removed, UnixMs) {
    drop_operator_.run(removed.name);
}

void RecordWriter::write_one(const BlockRecord& block, UnixMs) {
    put_block_.run(static_cast<int>(block.kind), block.value, block.reason, block.blocked_by, block.blocked_at.value,
                   block.until.value);
}

void RecordWriter::write_one(const BlockRemoved& removed, UnixMs) {
    drop_block_.run(static_cast<int>(removed.kind), removed.value);
}

void RecordWriter::write_one(const HostRecord& host, UnixMs) {
    put_host_.run(host.name, host.address, host.region.value, host.version, host.draining, host.joined_at.value,
                  host.lost_at.value);
}

void RecordWriter::write_one(const HostForgotten& forgotten, UnixMs) {
    drop_host_.run(forgotten.name);
}

void RecordWriter::write_one(const HostProcessRecord& process, UnixMs) {
    put_host_process_.run(process.host, process.name, process.run, static_cast<int>(process.state), process.pid,
                          process.port, process.server.value, process.started_at.value, process.restarts,
                          process.exit_at.value, process.exit_code, process.exit_signal, process.exit_reason);
}

void RecordWriter::write_one(const HostProcessForgotten& forgotten, UnixMs) {
    drop_host_process_.run(forgotten.host, forgotten.name);
}

void RecordWriter::write_one(const PlayerNotice&, UnixMs) {}

void RecordWriter::write_one(const NoticeTold&, UnixMs) {}

}  // namespace muster
