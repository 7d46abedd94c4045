// From a matchmaker's request to its answer: choosing, offering, acknowledging, making durable.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/events.h"
#include "core/match_token.h"
#include "core/matches.h"

namespace muster {
namespace {

AllocationResponse refused(LobbyId lobby, Refusal why) {
    return {LobbyRefused{lobby, ErrorText(text(why))}};
}

}  // namespace

void Matches::request(const Pass& pass, const Ticket& ticket, const Matchmaker& from,
                      const AllocationRequest& request) {
    if (fleet_.region_known(request.region)) ++figures_.requests[request.region];
    if (const auto list = lists_.find(request.lobby); list != lists_.end()) list->second.mentioned = pass.now;
    if (Match* known = mutable_find(request.lobby); known && known->record.matchmaker == from.id)
        return join(ticket, *known);
    if (const auto why = judged(from, request)) return refuse(pass, ticket, request, *why);

    Match& match = matches_[request.lobby];
    match.serial = next_serial_++;
    match.requested = pass.now;
    match.asks.push_back(ticket);
    match.record.lobby = request.lobby;
    match.record.matchmaker = from.id;
    match.record.region = request.region;
    match.record.game_type = request.game_type;
    match.record.game_mode = request.game_mode;
    match.record.player_count = request.player_count;
    match.record.average_rating = request.average_rating;
    match.record.requested_at = wall();
    ++in_flight_;
    const LobbyId lobby = request.lobby;
    const std::uint64_t serial = match.serial;
    match.limit =
        timers_.start({.first_delay = limit_delay(), .base = TimeBase::real},
                      [this, lobby, serial](const TimerFired& fired) { limit_reached(fired.pass, lobby, serial); });
    offer_next(pass, match);
}

// A-2, in its order. The store comes last: with it down no promise can be kept.
std::optional<Refusal> Matches::judged(const Matchmaker& from, const AllocationRequest& request) const {
    if (shutting_down_) return Refusal::server_shutting_down;
    if (in_flight_ >= config_.in_flight_max || ledger_.congested()) return Refusal::server_busy;
    if (request.lobby.value <= 0 || matches_.contains(request.lobby) || over_.find(request.lobby))
        return Refusal::invalid_match_lobby_id;
    if (const auto list = lists_.find(request.lobby); list != lists_.end() && list->second.matchmaker != from.id) {
        return Refusal::invalid_match_lobby_id;
    }
    if (!fleet_.region_known(request.region) || !from.serves(request.region)) return Refusal::region_not_supported;
    if (request.player_count < 1) return Refusal::invalid_player_count;
    if (!ledger_.store_up()) return Refusal::store_unavailable;
    return std::nullopt;
}

// the same lobby from the same matchmaker gets the same answer, whatever else it asks for.
void Matches::join(const Ticket& ticket, Match& match) {
    if (match.durable) return answer_success(ticket, match);
    if (match.asks.size() >= asks_max) return links_.answer(ticket, refused(match.lobby(), Refusal::server_busy));
    match.asks.push_back(ticket);
}

void Matches::refuse(const Pass&, const Ticket& ticket, const AllocationRequest& request, Refusal why) {
    links_.answer(ticket, refused(request.lobby, why));
    events_.publish(event::MatchRefused{request.lobby, request.region, text(why), label(why), Duration{0}});
    // Refused before it was known to be this matchmaker's lobby: its match may be well.
    const bool at_the_door =
        why == Refusal::invalid_match_lobby_id || why == Refusal::server_busy || why == Refusal::server_shutting_down;
    if (!at_the_door) tell_players_it_fell_through(request.lobby, text(why));
}

void Matches::offer_next(const Pass& pass, Match& match) {
    if (match.offers > config_.retries) return fail(pass, match, Refusal::server_allocation_timeout);
    // Those that still owe an answer to an old offer of this lobby are passed over too.
    std::vector<ServerId> passed_over = match.tried;
    if (const auto owing = unanswered_.find(match.lobby()); owing != unanswered_.end()) {
        passed_over.insert(passed_over.end(), owing->second.begin(), owing->second.end());
    }
    const auto reservation = fleet_.reserve(match.record.region, passed_over);
    if (!reservation) {
        return fail(pass, match,
                    match.offer_unanswered ? Refusal::server_allocation_timeout : Refusal::no_servers_available);
    }
    const Server& server = *fleet_.find(reservation->server);
    if (match.offers > 0) ++figures_.retries[match.record.region];
    ++match.offers;
    match.tried.push_back(server.id);
    match.record.state = MatchState::offering;
    match.record.server = server.id;
    match.record.server_epoch = reservation->epoch;
    match.record.server_ip = server.endpoint.ip.to_string();
    match.record.server_port = server.endpoint.port;
    match.record.token = make_match_token(entropy_, match.lobby(), wall());
    on_server(server.id).offered.push_back(match.lobby());

    const LobbyId lobby = match.lobby();
    const std::uint64_t serial = match.serial;
    match.offer = timers_.start({.first_delay = config_.ack_timeout}, [this, lobby, serial](const TimerFired& fired) {
        offer_timed_out(fired.pass, lobby, serial);
    });
    // Written before anybody knows of it, but not waited for: after a crash the offer is known and can be taken back.
    save(match);
    links_.send(server.link, AllocateMatch{lobby, match.record.game_type, match.record.game_mode,
                                           MatchTokenText(match.record.token)});
    events_.publish(event::MatchOffered{lobby, match.record.region, server.id, match.offers});
}

void Matches::offer_timed_out(const Pass& pass, LobbyId lobby, std::uint64_t serial) {
    Match* match = mutable_find(lobby);
    if (!match || match->serial != serial || !match->offering()) return;
    match->offer_unanswered = true;
    take_back_offer(*match, Reason::offer_withdrawn);
    offer_next(pass, *match);
}

// The offer in flight is no more: the slot is free, the server is told, and its answer is still owed.
void Matches::take_back_offer(Match& match, Reason reason) {
    const ServerId id = match.record.server;
    timers_.cancel(match.offer);
    std::erase(on_server(id).offered, match.lobby());
    on_server(id).unanswered.push_back(match.lobby());
    unanswered_[match.lobby()].push_back(id);
    fleet_.offer_over(id);
    if (const Server* server = fleet_.find(id); server && server->connected()) {
        links_.send(server->link, AbortMatch{match.lobby(), ReasonText(text(reason))});
    }
}

void Matches::limit_reached(const Pass& pass, LobbyId lobby, std::uint64_t serial) {
    Match* match = mutable_find(lobby);
    if (!match || match->serial != serial || match->durable) return;
    // Acknowledged but not durable in time: the disk is too slow to promise anything.
    const Refusal why = match->offering() ? Refusal::server_allocation_timeout : Refusal::store_unavailable;
    withdraw(pass, *match, why, Reason::offer_withdrawn);
}

void Matches::acknowledge(const Pass& pass, const Server& from, const AllocateMatchAck& ack) {
    Match* match = mutable_find(ack.lobby);
    const bool awaited =
        match && match->offering() && match->record.server == from.id && match->record.server_epoch == from.epoch;
    if (!awaited) return bad_ack(from, ack);
    timers_.cancel(match->offer);
    std::erase(on_server(from.id).offered, ack.lobby);
    if (ack.accepted) return accept(pass, *match);
    fleet_.offer_over(from.id);
    offer_next(pass, *match);
}

// Late, twice, or for a match that it does not hold: changes nothing but the count (fault 61).
void Matches::bad_ack(const Server& from, const AllocateMatchAck& ack) {
    ++figures_.bad_acks;
    answered_old_offer(from.id, ack.lobby);
    const Match* match = find(ack.lobby);
    const bool holds_it = match && !match->offering() && match->record.server == from.id;
    if (ack.accepted && !holds_it)
        links_.send(from.link, AbortMatch{ack.lobby, ReasonText(text(Reason::offer_withdrawn))});
}

void Matches::answered_old_offer(ServerId server, LobbyId lobby) {
    if (const auto on = on_server_.find(server); on != on_server_.end()) std::erase(on->second.unanswered, lobby);
    const auto owing = unanswered_.find(lobby);
    if (owing == unanswered_.end()) return;
    std::erase(owing->second, server);
    if (owing->second.empty()) unanswered_.erase(owing);
}

void Matches::accept(const Pass&, Match& match) {
    const ServerId server = match.record.server;
    fleet_.acknowledged(server);
    on_server(server).held.push_back(match.lobby());
    match.record.state = MatchState::allocated;
    match.record.allocated_at = wall();
    start_expiry(match, config_.token_ttl);
    const LobbyId lobby = match.lobby();
    const std::uint64_t serial = match.serial;
    const int offer = match.offers;
    ledger_.write_promised(match.record, [this, lobby, serial, offer](bool durable) {
        settled(time_.pass(), lobby, serial, offer, durable);
    });
}

void Matches::settled(const Pass& pass, LobbyId lobby, std::uint64_t serial, int offer, bool durable) {
    Match* match = mutable_find(lobby);
    // Withdrawn meanwhile, or with another server by now.
    if (!match || match->serial != serial || match->offers != offer || match->offering()) return;
    // After a gap the store's word may be heard before the timer: too late all the same (fault 63).
    const bool in_time = pass.now - match->requested < config_.deadline;
    if (!durable || !in_time) return withdraw(pass, *match, Refusal::store_unavailable, Reason::offer_withdrawn);

    match->durable = true;
    --in_flight_;
    timers_.cancel(match->limit);
    const MatchRecord& record = match->record;
    events_.publish(
        event::MatchAllocated{lobby, record.region, record.server, record.matchmaker, pass.now - match->requested});
    for (const Ticket& ticket : std::exchange(match->asks, {})) answer_success(ticket, *match);
    if (record.state == MatchState::ready) publish_ready(*match);
    if (match->ended_early) over(pass, *match, MatchState::ended, "");
}

void Matches::answer_success(const Ticket& ticket, const Match& match) {
    const MatchRecord& record = match.record;
    const AllocationResponse answer{AllocationResponse::Accepted{
        record.lobby, record.server, GameEndpoint{IpText(record.server_ip), record.server_port},
        MatchTokenText(record.token), record.allocated_at}};
    const AllocationResponse otherwise = refused(record.lobby, Refusal::server_allocation_timeout);
    links_.answer_until(ticket, ticket.asked + config_.deadline, answer, otherwise, record.lobby);
}

// Told in the middle of another answer: the match is given up a moment later, unless somebody has been told of it then.
void Matches::answer_too_late(LobbyId lobby) {
    timers_.start({.first_delay = Timers::delay_least}, [this, lobby](const TimerFired& fired) {
        Match* match = mutable_find(lobby);
        if (!match || !match->durable || match->answered) return;
        match->answered = true;  // by its failure: the event may follow
        over(fired.pass, *match, MatchState::aborted, text(Reason::offer_withdrawn));
    });
}

// The request came to nothing: all who wait hear why, and the lobby may be asked for again.
void Matches::fail(const Pass& pass, Match& match, Refusal why) {
    const AllocationResponse answer = refused(match.lobby(), why);
    for (const Ticket& ticket : std::exchange(match.asks, {})) links_.answer(ticket, answer);
    events_.publish(
        event::MatchRefused{match.lobby(), match.record.region, text(why), label(why), pass.now - match.requested});
    tell_players_it_fell_through(match.lobby(), text(why));
    if (match.offers > 0) ledger_.write(MatchForgotten{match.lobby()});
    if (match.record.untold_event != 0) untold_[match.record.matchmaker].erase(match.lobby());
    forget(match);
}

// Takes a request back from whichever server has it, acknowledged or not, and fails it.
void Matches::withdraw(const Pass& pass, Match& match, Refusal why, Reason reason) {
    MUSTER_CHECK(!match.durable, "a promise that was made is not withdrawn");
    const ServerId id = match.record.server;
    if (match.offering()) {
        take_back_offer(match, reason);
        return fail(pass, match, why);
    }
    std::erase(on_server(id).held, match.lobby());
    fleet_.match_over(id);
    if (const Server* server = fleet_.find(id); server && server->connected()) {
        links_.send(server->link, AbortMatch{match.lobby(), ReasonText(text(reason))});
    } else if (server) {
        fleet_.owe_abort(server->endpoint, match.lobby());
    }
    fail(pass, match, why);
}

void Matches::cancel(const Pass& pass, const Ticket& ticket, const Matchmaker& from, LobbyId lobby) {
    Match* match = mutable_find(lobby);
    MatchEventNotice notice{lobby, MatchEventKind::aborted, ReasonText(text(Reason::match_not_found))};
    if (!match || match->record.matchmaker != from.id) return links_.answer(ticket, notice);
    notice.reason = ReasonText(text(Reason::cancelled));
    if (!match->durable) {
        withdraw(pass, *match, Refusal::allocation_cancelled, Reason::cancelled);
        return links_.answer(ticket, notice);
    }
    // The event that tells of the abort is the answer; it keeps its place in the link's order.
    match->answered = false;
    over(pass, *match, MatchState::aborted, text(Reason::cancelled));
    links_.answer(ticket, notice);
    if (const auto kept = untold_over_.find(lobby); kept != untold_over_.end()) {
        kept->second.untold_event = 0;
        ledger_.write(kept->second);
        untold_[from.id].erase(lobby);
        untold_over_.erase(kept);
    }
}

void Matches::shut_down(const Pass& pass) {
    shutting_down_ = true;
    std::vector<LobbyId> in_flight;
    for (const auto& [lobby, match] : matches_) {
        if (!match.durable) in_flight.push_back(lobby);
    }
    for (const LobbyId lobby : in_flight) {
        if (Match* match = mutable_find(lobby))
            withdraw(pass, *match, Refusal::server_shutting_down, Reason::server_shutting_down);
    }
}

}  // namespace muster
