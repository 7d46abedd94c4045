#include "core/matches.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
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
      replies_(parts.replies),
      fleet_(parts.fleet),
      issued_(parts.issued),
      notices_(parts.notices),
      news_({parts.links, parts.replies, parts.matchmakers, table_, parts.ledger}, config.news_portion),
      lists_({parts.timers, parts.ledger, parts.replies, parts.notices, table_, over_}),
      offers_({parts.timers, parts.events, parts.ledger, parts.links, parts.fleet, table_, parts.entropy, figures_}),
      doubts_({parts.timers, parts.links, parts.fleet, table_}),
      seats_({parts.timers, parts.events, parts.log, parts.ledger, parts.replies, table_, lists_, figures_}) {
    const std::chrono::minutes minute(1);
    timers_.start({.first_delay = minute, .interval = minute}, [this](const TimerFired& fired) { prune(fired.pass); });
}

std::size_t Matches::update(const Pass& pass) {
    // A use that could not be made durable may have been the only one of a match whose token has expired.
    for (const LobbyId lobby : seats_.take_vacated()) {
        const Match* match = table_.find(lobby);
        if (match && pass.now >= match->token_expires) expiry_due(pass, lobby, match->serial);
    }
    return news_.update(pass);
}

void Matches::validate(const Pass& pass, const ReplyTo& reply_to, const Server& from, const ValidateToken& request) {
    fleet_.validates_tokens(from.id);
    if (const auto why = seats_.refusal(pass, from, request)) return seats_.refuse(reply_to, request, *why);
    Match& match = *table_.find(request.lobby);
    heard_of(pass, match, from);
    seats_.take(reply_to, match, request.account, limit_delay());
}

Result<Reported, Refusal> Matches::ready(const Pass& pass, const Server& from, const ReadyForMatch& report) {
    const auto found = match_of_report(pass, from, report.lobby);
    if (!found) return Failure(found.error());
    Match& match = **found;
    if (!same_text(report.token.view(), match.record.token)) return Failure(Refusal::invalid_match_token);
    if (match.record.state != MatchState::allocated) return Reported::again;
    match.record.state = MatchState::ready;
    match.record.ready_at = wall();
    save(match);
    became_ready(pass, match);
    return Reported::news;
}

Result<Reported, Refusal> Matches::started(const Pass& pass, const Server& from, LobbyId lobby) {
    fleet_.speaks_of_matches(from.id);
    const auto found = match_of_report(pass, from, lobby);
    if (!found) {
        const OverLobbies::Over* over = over_.find(lobby);
        const bool its_own = over && over->how == MatchState::ended && over->server == from.id;
        return Failure(its_own ? Refusal::match_already_ended : found.error());
    }
    Match& match = **found;
    if (match.record.state == MatchState::started) return Reported::again;
    match.record.state = MatchState::started;
    match.record.started_at = wall();
    timers_.cancel(match.look);
    if (match.answered) news_.tell(match.record);
    save(match);
    events_.publish(event::MatchStarted{lobby, from.id});
    notices_.match_begun_or_over(lobby);
    return Reported::news;
}

Result<Reported, Refusal> Matches::ended(const Pass& pass, const Server& from, LobbyId lobby) {
    fleet_.speaks_of_matches(from.id);
    const auto found = match_of_report(pass, from, lobby);
    if (!found) {
        const OverLobbies::Over* over = over_.find(lobby);
        if (over && over->how == MatchState::ended && over->server == from.id) return Reported::again;
        return Failure(found.error());
    }
    Match& match = **found;
    fleet_.end_reported(from.id, match.reports_before);
    this->over(pass, match, MatchState::ended, "");
    return Reported::news;
}

// The first three checks of A-10, in their order. The first one is the caller's: `from` is registered and speaks for
// itself. A server that speaks of its match holds it.
Result<Match*, Refusal> Matches::match_of_report(const Pass& pass, const Server& from, LobbyId lobby) {
    Match* match = table_.find(lobby);
    if (!match || match->offering()) {
        const OverLobbies::Over* over = over_.find(lobby);
        const bool anothers = over && over->how == MatchState::ended && over->server != from.id;
        return Failure(anothers ? Refusal::server_not_allocated : Refusal::match_not_found);
    }
    if (match->record.server != from.id) return Failure(Refusal::server_not_allocated);
    heard_of(pass, *match, from);
    return match;
}

bool Matches::abort(const Pass& pass, LobbyId lobby, std::string_view reason) {
    Match* match = table_.find(lobby);
    if (!match) return false;
    if (match->offering()) {
        withdraw(pass, *match, Refusal::allocation_cancelled, Reason::aborted_by_operator);
    } else {
        over(pass, *match, MatchState::aborted, reason, {.to_who_waits = Refusal::allocation_cancelled});
    }
    return true;
}

// Whatever an earlier registration still owed is void (A-7, F-9). What was aborted while it was away it hears first
// (F-6), then what it may still hold.
void Matches::server_registered(const Server& server) {
    offers_.forget(server.id);
    for (const LobbyId lobby : fleet_.tell_owed_aborts(server.endpoint))
        links_.send(server.link, AbortMatch{lobby, ReasonText(text(Reason::server_lost))});
    doubts_.forget(server.id);
    ask_in_doubt(server.id);
}

void Matches::server_offline(const Pass& pass, const FleetFact& fact) {
    // An offer in flight counts as refused. Should the server have taken it after all, it is told when it comes back.
    while (!table_.offered_on(fact.server).empty()) {
        Match& match = *table_.find(table_.offered_on(fact.server).front());
        events_.publish(event::MatchDeclined{match.lobby(), fact.server, "server went offline"});
        offers_.lost(match, fact.endpoint);
        offer_next(pass, match);
    }
    doubts_.went_offline(fact.server);
}

void Matches::server_removed(const Pass& pass, const FleetFact& fact) {
    MUSTER_CHECK(table_.offered_on(fact.server).empty(), "an Offline server has no offers");
    while (!table_.held_on(fact.server).empty()) {
        Match& match = *table_.find(table_.held_on(fact.server).front());
        fleet_.owe_abort(fact.endpoint, match.lobby());
        over(pass, match, MatchState::aborted, text(fact.reason));
    }
    offers_.forget(fact.server);
    doubts_.forget(fact.server);
}

void Matches::load_mismatch(const Pass& pass, const Server& server) {
    const std::vector<LobbyId> held = table_.held_on(server.id);
    // Reports that waited for an owner come in one burst, before the server can answer what a restart asks it.
    // What they lack may be the match in doubt, which it never heard of: the answer says so, not the count.
    if (doubts_.awaits(server.id)) return;
    const auto is_earlier = [&](LobbyId lobby) { return table_.find(lobby)->record.server_epoch < server.epoch; };
    // A process that was restarted counts none of the earlier ones. One that counts some still runs: what it lacks has
    // ended, if it cannot say so itself.
    const auto earlier = static_cast<std::int32_t>(std::ranges::count_if(held, is_earlier));
    const bool restarted = server.reported_matches <= server.held - earlier;
    for (const LobbyId lobby : held) {
        // As many as it lacks: those that it counts, it has.
        if (server.held <= server.reported_matches || !(restarted || server.speaks_of_matches)) break;
        if (!is_earlier(lobby)) continue;
        Match& match = *table_.find(lobby);
        ++figures_.lost_matches;
        over(pass, match, MatchState::aborted, text(Reason::lost_by_server));
    }
    // A server that speaks of its matches itself is believed; one that never does can only tell by its count.
    if (server.speaks_of_matches) return;
    const std::vector<LobbyId> left = table_.held_on(server.id);
    for (const LobbyId lobby : left) {
        if (server.held <= server.reported_matches) return;
        over(pass, *table_.find(lobby), MatchState::ended, text(Reason::reported_by_heartbeat));
    }
}

// The match has ended or was aborted: its slot is free, its token is gone, everybody hears of it.
void Matches::over(const Pass& pass, Match& match, MatchState how, std::string_view reason, const MatchEnding& ending) {
    MatchRecord& record = match.record;
    const LobbyId lobby = record.lobby;
    MUSTER_CHECK(!match.offering(), "what nobody was promised is withdrawn, not over");
    refuse_who_waits(match, ending.to_who_waits);
    table_.held_no_more(match);
    fleet_.match_over(record.server);
    record.state = how;
    record.reason = ReasonText::cut(reason).string();
    record.ended_at = wall();
    record.token.clear();
    if (!is_http_matchmaker(record.matchmaker)) record.untold_event = static_cast<std::uint8_t>(*event_of(how));
    over_.add(lobby, {record.server, how}, pass.now);
    if (!ending.cancelled) news_.tell_over(pass, record);
    if (how == MatchState::ended) {
        events_.publish(event::MatchEnded{lobby, record.server, record.reason});
        notices_.match_begun_or_over(lobby);
    } else {
        events_.publish(event::MatchAborted{lobby, record.server, record.reason});
        lists_.tell_it_fell_through(lobby, record.reason);
    }
    save(match);
    if (how == MatchState::aborted && !planted(Bug::aborted_untold))
        offers_.drop_when_durable(record.server, lobby, record.reason);
    if (ending.cancelled) {
        // Durable before it is answered, and before it is told again on another link.
        ledger_.promise_written([this, reply_to = *ending.cancelled, limit = limit_cancel(*ending.cancelled),
                                 ended = std::make_unique<MatchRecord>(record)](Kept) {
            timers_.cancel(limit);
            answer_cancel(reply_to);
            news_.tell_over(time_.pass(), *ended, reply_to.link);
        });
    }
    lists_.match_over(lobby);
    forget(match);
}

void Matches::became_ready(const Pass& pass, Match& match) {
    if (match.answered) news_.tell(match.record);
    events_.publish(event::MatchReady{match.lobby(), match.record.server});
    lists_.tell_to_come(match);
    look_whether_anybody_came(pass, match.lobby(), match.serial);
}

// A ready match without a player or a start for long enough keeps its slot for nothing. Of a server that neither
// reports starts nor validates tokens nobody can tell.
void Matches::look_whether_anybody_came(const Pass& pass, LobbyId lobby, std::uint64_t serial) {
    Match* match = table_.find(lobby);
    if (!match || match->serial != serial || match->record.state != MatchState::ready) return;
    const bool looked_before = match->look != TimerId{};
    const Server* server = fleet_.find(match->record.server);
    const bool would_tell = server && (server->speaks_of_matches || server->validates_tokens);
    if (looked_before && would_tell && match->used.empty() && !planted(Bug::nobody_came_unnoticed))
        return over(pass, *match, MatchState::aborted, text(Reason::nobody_came));
    match->look = after(TimeBase::running, config_.ready_timeout,
                        [this, lobby, serial](const Pass& then) { look_whether_anybody_came(then, lobby, serial); });
}

void Matches::start_expiry(Match& match, Duration left) {
    const LobbyId lobby = match.lobby();
    const std::uint64_t serial = match.serial;
    match.token_expires = time_.now() + left;
    if (match.record.state != MatchState::allocated) return;  // it does not end a match that is ready
    match.expiry =
        after(TimeBase::real, left, [this, lobby, serial](const Pass& pass) { expiry_due(pass, lobby, serial); });
}

void Matches::expiry_due(const Pass& pass, LobbyId lobby, std::uint64_t serial) {
    Match* match = table_.find(lobby);
    if (!match || match->serial != serial) return;
    const bool nobody_came = match->record.state == MatchState::allocated && match->used.empty();
    if (nobody_came) over(pass, *match, MatchState::aborted, text(Reason::match_token_expired));
}

void Matches::save(const Match& match) {
    ledger_.write(match.record);
}

void Matches::forget(Match& match) {
    timers_.cancel(match.limit);
    timers_.cancel(match.offer);
    timers_.cancel(match.expiry);
    timers_.cancel(match.look);
    if (match.offering()) in_flight_.end(match.record.matchmaker);
    table_.erase(match);
}

// Once a minute.
void Matches::prune(const Pass& pass) {
    over_.remember_for(config_.lobby_memory);
    over_.forget(pass.now);
    news_.prune(pass);
    lists_.prune(pass);
    fleet_.settle_heard_aborts();
}

}  // namespace muster
