#include "core/matches.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/events.h"
#include "core/match_token.h"

namespace muster {

Matches::Matches(const MatchesConfig& config, const Parts& parts)
    : config_(config),
      time_(parts.time),
      timers_(parts.timers),
      events_(parts.events),
      log_(parts.log),
      ledger_(parts.ledger),
      links_(parts.links),
      fleet_(parts.fleet),
      matchmakers_(parts.matchmakers),
      issued_(parts.issued),
      entropy_(parts.entropy),
      watcher_(parts.watcher) {
    const std::chrono::minutes minute(1);
    timers_.start({.first_delay = minute, .interval = minute}, [this](const TimerFired& fired) { prune(fired.pass); });
}

Result<void, Refusal> Matches::ready(const Pass&, const Server& from, const ReadyForMatch& report) {
    const auto found = reported(from, report.lobby);
    if (!found) return Failure(found.error());
    Match& match = **found;
    if (!same_text(report.token.view(), match.record.token)) return Failure(Refusal::invalid_match_token);
    if (match.record.state != MatchState::allocated) return {};  // said before
    match.record.state = MatchState::ready;
    match.record.ready_at = wall();
    tell(match.record, match.answered, MatchEventKind::ready);
    save(match);
    if (match.durable) publish_ready(match);
    return {};
}

Result<void, Refusal> Matches::started(const Pass&, const Server& from, LobbyId lobby) {
    fleet_.speaks_of_matches(from.id);
    const auto found = reported(from, lobby);
    if (!found) {
        const OverLobbies::Over* over = over_.find(lobby);
        const bool its_own = over && over->how == MatchState::ended && over->server == from.id;
        return Failure(its_own ? Refusal::match_already_ended : found.error());
    }
    Match& match = **found;
    if (match.ended_early) return Failure(Refusal::match_already_ended);
    if (match.record.state == MatchState::started) return {};
    match.record.state = MatchState::started;
    match.record.started_at = wall();
    tell(match.record, match.answered, MatchEventKind::started);
    save(match);
    events_.publish(event::MatchStarted{lobby, from.id});
    watcher_.match_begun_or_over(lobby);
    return {};
}

Result<void, Refusal> Matches::ended(const Pass& pass, const Server& from, LobbyId lobby) {
    fleet_.speaks_of_matches(from.id);
    const auto found = reported(from, lobby);
    if (!found) {
        const OverLobbies::Over* over = over_.find(lobby);
        if (over && over->how == MatchState::ended && over->server == from.id) return {};  // said before
        return Failure(found.error());
    }
    Match& match = **found;
    if (match.durable) {
        this->over(pass, match, MatchState::ended, "");
    } else {
        match.ended_early = true;  // who waits for the answer gets it first
    }
    return {};
}

// The first three checks of A-10, in their order. The first one is the caller's: `from` is registered and speaks for
// itself.
Result<Match*, Refusal> Matches::reported(const Server& from, LobbyId lobby) {
    Match* match = mutable_find(lobby);
    if (!match || match->offering()) {
        const OverLobbies::Over* over = over_.find(lobby);
        const bool anothers = over && over->how == MatchState::ended && over->server != from.id;
        return Failure(anothers ? Refusal::server_not_allocated : Refusal::match_not_found);
    }
    if (match->record.server != from.id) return Failure(Refusal::server_not_allocated);
    return match;
}

bool Matches::abort(const Pass& pass, LobbyId lobby, std::string_view reason) {
    Match* match = mutable_find(lobby);
    if (!match) return false;
    if (!match->durable) {
        withdraw(pass, *match, Refusal::allocation_cancelled, Reason::aborted_by_operator);
    } else {
        over(pass, *match, MatchState::aborted, reason);
    }
    return true;
}

void Matches::server_offline(const Pass& pass, ServerId server) {
    const auto found = on_server_.find(server);
    if (found == on_server_.end()) return;
    const Server* gone = fleet_.find(server);
    // An offer in flight counts as refused. Should the server have taken it after all, it is told when it comes back.
    for (const LobbyId lobby : std::vector(found->second.offered)) {
        Match* match = mutable_find(lobby);
        MUSTER_CHECK(match && match->offering() && match->record.server == server, "an offer in flight has its match");
        if (gone) fleet_.owe_abort(gone->endpoint, lobby);
        std::erase(on_server(server).offered, lobby);
        timers_.cancel(match->offer);
        fleet_.offer_over(server);
        offer_next(pass, *match);
    }
}

void Matches::server_removed(const Pass& pass, const Server& server, Reason reason) {
    const auto found = on_server_.find(server.id);
    if (found == on_server_.end()) return;
    MUSTER_CHECK(found->second.offered.empty(), "an Offline server has no offers");
    for (const LobbyId lobby : std::vector(found->second.held)) {
        Match* match = mutable_find(lobby);
        MUSTER_CHECK(match && match->record.server == server.id, "a held match has its record");
        fleet_.owe_abort(server.endpoint, lobby);
        if (match->durable) {
            over(pass, *match, MatchState::aborted, text(reason));
            continue;
        }
        // Nobody was promised this one: another server may still take it.
        std::erase(on_server(server.id).held, lobby);
        fleet_.match_over(server.id);
        timers_.cancel(match->expiry);
        release_uses(*match);
        forget_reports(*match);
        offer_next(pass, *match);
    }
    server_registered(server.id);
    on_server_.erase(server.id);
}

// What a server said of the match counts no more: another one will have it.
void Matches::forget_reports(Match& match) {
    MatchRecord& record = match.record;
    record.state = MatchState::offering;
    record.allocated_at = record.ready_at = record.started_at = {};
    match.ended_early = false;
    if (std::exchange(record.untold_event, std::uint8_t{0}) != 0) untold_[record.matchmaker].erase(record.lobby);
}

// Whatever an earlier registration still owed is void (A-7, F-9).
void Matches::server_registered(ServerId server) {
    const auto found = on_server_.find(server);
    if (found == on_server_.end()) return;
    for (const LobbyId lobby : std::vector(found->second.unanswered)) answered_old_offer(server, lobby);
}

void Matches::load_mismatch(const Pass& pass, const Server& server) {
    const std::vector<LobbyId> held = on_server(server.id).held;
    const ServerId id = server.id;
    const std::int64_t epoch = server.epoch;
    for (const LobbyId lobby : held) {
        Match& match = *mutable_find(lobby);
        if (match.record.server_epoch >= epoch || !match.durable) continue;
        ++figures_.lost_matches;
        over(pass, match, MatchState::aborted, text(Reason::lost_by_server));
    }
    // A server that speaks of its matches itself is believed; one that never does can only tell by its count.
    if (server.speaks_of_matches) return;
    const std::vector<LobbyId> left = on_server(id).held;
    for (const LobbyId lobby : left) {
        if (server.held <= server.reported_matches) return;
        Match& match = *mutable_find(lobby);
        if (match.durable) over(pass, match, MatchState::ended, text(Reason::reported_by_heartbeat));
    }
}

// The match has ended or was aborted: its slot is free, its token is gone, everybody hears of it.
void Matches::over(const Pass&, Match& match, MatchState how, std::string_view reason) {
    MatchRecord& record = match.record;
    const LobbyId lobby = record.lobby;
    MUSTER_CHECK(match.durable, "what nobody was promised is withdrawn, not over");
    std::erase(on_server(record.server).held, lobby);
    fleet_.match_over(record.server);
    if (how == MatchState::aborted) {
        if (const Server* server = fleet_.find(record.server); server && server->connected()) {
            links_.send(server->link, AbortMatch{lobby, ReasonText::cut(reason)});
        }
    }
    record.state = how;
    record.reason = ReasonText::cut(reason).string();
    record.ended_at = wall();
    record.token.clear();
    over_.add(lobby, {record.server, how}, pass.now);
    tell(record, match.answered, how == MatchState::ended ? MatchEventKind::ended : MatchEventKind::aborted);
    if (how == MatchState::ended) {
        events_.publish(event::MatchEnded{lobby, record.server, record.reason});
        watcher_.match_begun_or_over(lobby);
    } else {
        events_.publish(event::MatchAborted{lobby, record.server, record.reason});
        tell_players_it_fell_through(lobby, record.reason);
    }
    save(match);
    if (record.untold_event != 0) untold_over_[lobby] = record;
    end_list(lobby);
    forget(match);
}

// Sends the event, or keeps it until the matchmaker is back and has had its answer. Only the latest is kept.
void Matches::tell(MatchRecord& record, bool may_leave, MatchEventKind kind) {
    const Matchmaker* matchmaker = matchmakers_.find(record.matchmaker);
    const Link* link = matchmaker ? links_.find(matchmaker->link) : nullptr;
    const bool is_there = link && !link->closing;  // a link that has had our last word takes no event
    if (!is_there || !may_leave) {
        record.untold_event = static_cast<std::uint8_t>(kind);
        untold_[record.matchmaker].insert(record.lobby);
        return;
    }
    links_.send(link->id, MatchEventNotice{record.lobby, kind, ReasonText(record.reason)});
    if (std::exchange(record.untold_event, std::uint8_t{0}) != 0) untold_[record.matchmaker].erase(record.lobby);
}

void Matches::matchmaker_back(const Matchmaker& matchmaker) {
    const auto lobbies = untold_.find(matchmaker.id);
    if (lobbies == untold_.end()) return;
    for (const LobbyId lobby : std::vector(lobbies->second.begin(), lobbies->second.end())) {
        const Match* match = find(lobby);
        if (match && !match->answered) continue;  // follows its answer
        answer_left(lobby, true);
    }
}

void Matches::answer_left(LobbyId lobby, bool in_time) {
    if (!in_time) return answer_too_late(lobby);
    Match* match = mutable_find(lobby);
    if (match) match->answered = true;
    const auto over = untold_over_.find(lobby);
    MatchRecord* record = match ? &match->record : over != untold_over_.end() ? &over->second : nullptr;
    if (!record || record->untold_event == 0) return;
    tell(*record, true, static_cast<MatchEventKind>(record->untold_event));
    if (record->untold_event != 0) return;
    ledger_.write(*record);
    if (!match) untold_over_.erase(lobby);
}

void Matches::publish_ready(const Match& match) {
    events_.publish(event::MatchReady{match.lobby(), match.record.server});
    tell_players_to_come(match);
}

void Matches::tell_players_to_come(const Match& match) {
    if (match.record.state != MatchState::ready || !match.durable) return;
    if (const auto* listed = accounts(match.lobby())) watcher_.match_ready(match.record, *listed);
}

void Matches::tell_players_it_fell_through(LobbyId lobby, std::string_view reason) {
    const auto* listed = accounts(lobby);
    watcher_.match_fell_through(lobby, reason, listed ? *listed : std::vector<AccountId>{});
}

void Matches::start_expiry(Match& match, Duration left) {
    const LobbyId lobby = match.lobby();
    const std::uint64_t serial = match.serial;
    match.token_expires = time_.now() + left;
    match.expiry =
        timers_.start({.first_delay = left, .base = TimeBase::real},
                      [this, lobby, serial](const TimerFired& fired) { expiry_due(fired.pass, lobby, serial); });
}

void Matches::expiry_due(const Pass& pass, LobbyId lobby, std::uint64_t serial) {
    Match* match = mutable_find(lobby);
    if (!match || match->serial != serial) return;
    const bool nobody_came = match->record.state == MatchState::allocated && match->used.empty();
    if (nobody_came && match->durable) over(pass, *match, MatchState::aborted, text(Reason::match_token_expired));
}

const Match* Matches::find(LobbyId lobby) const {
    const auto found = matches_.find(lobby);
    return found == matches_.end() ? nullptr : &found->second;
}

Match* Matches::mutable_find(LobbyId lobby) {
    const auto found = matches_.find(lobby);
    return found == matches_.end() ? nullptr : &found->second;
}

const std::vector<LobbyId>& Matches::held_on(ServerId server) const {
    static const std::vector<LobbyId> none;
    const auto found = on_server_.find(server);
    return found == on_server_.end() ? none : found->second.held;
}

void Matches::save(const Match& match) {
    ledger_.write(match.record);
}

void Matches::forget(Match& match) {
    timers_.cancel(match.limit);
    timers_.cancel(match.offer);
    timers_.cancel(match.expiry);
    if (!match.durable) --in_flight_;
    matches_.erase(match.lobby());
}

// Once a minute: what has been over for long, and lists of players of lobbies that nobody speaks of any more.
void Matches::prune(const Pass& pass) {
    over_.remember_for(config_.lobby_memory);
    over_.forget(pass.now);
    std::erase_if(lists_, [&](const auto& entry) {
        const auto& [lobby, list] = entry;
        const bool forgotten =
            !matches_.contains(lobby) && list.in_flight.empty() && pass.now - list.mentioned > Duration(list_life);
        if (forgotten) ledger_.write(PlayersForgotten{lobby});
        return forgotten;
    });
}

}  // namespace muster
