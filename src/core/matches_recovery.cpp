// What the last run left behind: what was answered goes on, what was not is withdrawn (faults 1 and 65).
#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/matches.h"

namespace muster {

namespace {

// When the last run is known to have been at work still.
UnixMs latest_time(const RecoveredState& state) {
    UnixMs latest{};
    for (const LobbyOver& over : state.over) latest = std::max(latest, over.at);
    for (const MatchRecord& match : state.matches) {
        for (const UnixMs time : {match.requested_at, match.allocated_at, match.ready_at, match.started_at})
            latest = std::max(latest, time);
    }
    return latest;
}

}  // namespace

void Matches::recover(const Pass& pass, const RecoveredState& state) {
    // Their ages are counted from the last of them, not from today's date, which may be wrong.
    over_.remember_for(config_.lobby_memory);
    over_.expect(state.over.size());
    for (const LobbyOver& one : state.over) {
        const std::chrono::milliseconds age(state.over.back().at.value - one.at.value);
        over_.add(one.lobby, {one.server, one.how}, pass.now - age);
    }
    for (const PlayersRecord& list : state.players) {
        std::vector<AccountId> accounts = list.accounts;
        std::sort(accounts.begin(), accounts.end());
        lists_[list.lobby] = PlayerList{list.matchmaker, std::move(accounts), {}, pass.now};
    }
    // Then nobody can say how old a token is, and none may live for longer than its time (fault 15).
    const bool date_went_back = wall() < latest_time(state);
    std::unordered_map<LobbyId, std::vector<AccountId>> used;
    for (const TokenUsed& use : state.tokens_used) used[use.lobby].push_back(use.account);

    for (const MatchRecord& record : state.matches) {
        if (record.untold_event != 0) untold_[record.matchmaker].insert(record.lobby);
        if (record.state == MatchState::ended || record.state == MatchState::aborted) {
            untold_over_[record.lobby] = record;  // it is in `over` too
            continue;
        }
        ++figures_.recovered;
        const Server* server = fleet_.find(record.server);
        if (record.state == MatchState::offering) {
            // Nobody was promised it. The server may think it has it: it hears otherwise when it returns.
            ++figures_.withdrawn_at_start;
            if (server) fleet_.owe_abort(server->endpoint, record.lobby);
            ledger_.write(MatchForgotten{record.lobby});
            continue;
        }
        Match& match = matches_[record.lobby];
        match.record = record;
        match.serial = next_serial_++;
        match.requested = pass.now;
        match.offers = 1;
        match.durable = true;
        match.answered = true;  // it may have been, and whoever asks again is answered the same
        if (const auto found = used.find(record.lobby); found != used.end()) match.used = found->second;
        if (server) {
            on_server(record.server).held.push_back(record.lobby);
            fleet_.restore_held(record.server);
        }
        const auto age = std::chrono::milliseconds(std::max<std::int64_t>(0, wall().value - record.allocated_at.value));
        start_expiry(match, date_went_back ? Duration{0} : std::max<Duration>(config_.token_ttl - age, Duration{0}));
        tell_players_to_come(match);
        if (!server) over(pass, match, MatchState::aborted, text(Reason::server_lost));
    }
    // Held lists are in the order of acknowledgement.
    for (auto& [id, on] : on_server_) {
        std::sort(on.held.begin(), on.held.end(), [this](LobbyId a, LobbyId b) {
            return std::pair(find(a)->record.allocated_at, a) < std::pair(find(b)->record.allocated_at, b);
        });
    }
}

}  // namespace muster
