// What the last run left behind: what its servers still hold goes on, all else is aborted (faults 1, 65 and 72).
#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/planted.h"
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

void Matches::recover(const Pass& pass, RecoveredState&& state) {
    // Their ages are counted from the last of them, not from today's date, which may be wrong.
    over_.remember_for(config_.lobby_memory);
    over_.expect(state.over.size());
    for (const LobbyOver& one : state.over) {
        const std::chrono::milliseconds age(state.over.back().at.value - one.at.value);
        if (!planted(Bug::past_forgotten_at_restart)) over_.add(one.lobby, {one.server, one.how}, pass.now - age);
    }
    lists_.recover(pass, state.players);
    news_.recover(pass, state.matches);
    // Then nobody can say how old a token is, and none may live for longer than its time (fault 15).
    const UnixMs now = wall();
    const bool date_went_back = now < latest_time(state);
    std::unordered_map<LobbyId, std::vector<AccountId>> used;
    for (const TokenUsed& use : state.tokens_used)
        if (!planted(Bug::uses_forgotten_at_restart)) used[use.lobby].push_back(use.account);

    for (MatchRecord& recovered : state.matches) {
        if (recovered.state == MatchState::ended || recovered.state == MatchState::aborted) continue;  // of the news
        ++figures_.recovered;
        const Server* server = fleet_.restore_held(recovered.server);
        Match& match = table_.add(recovered.lobby);
        match.record = std::move(recovered);
        const MatchRecord& record = match.record;
        match.record.untold_event = 0;
        if (match.offering()) {
            // Perhaps its server acknowledged it, and it was answered. When, nobody knows; not before it was asked for,
            // so no token outlives its time.
            match.record.state = MatchState::allocated;
            match.record.allocated_at = record.requested_at;
        }
        // Whether it holds the match it is asked anew.
        if (server) fleet_.owe_abort_no_more(server->endpoint, record.lobby);
        match.serial = next_serial_++;
        match.requested = pass.now;
        match.tried = {record.server};
        // It may have been, and whoever asks again is answered the same.
        match.answered = true;
        match.promised = true;
        if (const auto found = used.find(record.lobby); found != used.end()) match.used = found->second;
        const auto age = std::chrono::milliseconds(std::max<std::int64_t>(0, now.value - record.allocated_at.value));
        start_expiry(match, date_went_back ? Duration{0} : std::max<Duration>(config_.token_ttl - age, Duration{0}));
        lists_.tell_to_come(match);
        if (!planted(Bug::refused_allocation_revives)) doubts_.begin(match);
        if (record.state == MatchState::ready) look_whether_anybody_came(pass, record.lobby, match.serial);
        if (server) continue;  // sort_held() enters it
        table_.held(match);
        ++figures_.recovered_dropped;
        over(pass, match, MatchState::aborted, text(Reason::server_lost));
    }
    table_.sort_held();
}

void Matches::ask_in_doubt(ServerId id) {
    for (const LobbyId lobby : doubts_.ask(id)) {
        Match& match = *table_.find(lobby);
        match.offer =
            after(TimeBase::running, config_.ack_timeout,
                  [this, lobby, serial = match.serial](const Pass& then) { doubt_timed_out(then, lobby, serial); });
    }
}

void Matches::doubt_timed_out(const Pass& pass, LobbyId lobby, std::uint64_t serial) {
    Match* match = table_.find(lobby);
    if (!match || match->serial != serial || match->doubt != Match::Doubt::asked) return;
    given_up(pass, *match);
}

// Its server does not hold the match any more.
void Matches::given_up(const Pass& pass, Match& match) {
    const ServerId server = match.record.server;
    ++figures_.lost_matches;
    ++figures_.recovered_dropped;
    over(pass, match, MatchState::aborted, text(Reason::lost_by_server));
    if (doubts_.settled(server)) ask_in_doubt(server);
}

// Its server holds the match, by its own word.
void Matches::heard_of(const Pass& pass, Match& match, const Server& from) {
    if (!match.doubted()) return;
    const bool was_asked = match.doubt == Match::Doubt::asked;
    match.record.server_epoch = from.epoch;
    fleet_.confirmed(from.id);
    save(match);
    stands(pass, match);
    if (was_asked && doubts_.settled(from.id)) ask_in_doubt(from.id);
}

void Matches::load_covered(const Pass& pass, const Server& server) {
    for (const LobbyId lobby : doubts_.counted_on(server.id)) stands(pass, *table_.find(lobby));
}

// As the last run answered it.
void Matches::stands(const Pass& pass, Match& match) {
    doubts_.end(match);
    // After a gap the server's word may be heard before the timer: too late all the same (fault 63).
    if (pass.now - match.requested >= config_.deadline)
        return refuse_who_waits(match, Refusal::server_allocation_timeout);
    for (const ReplyTo& reply_to : std::exchange(match.asks, {})) answer_success(reply_to, match);
}

}  // namespace muster
