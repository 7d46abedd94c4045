// From a matchmaker's request to its answer: choosing, making durable, offering, acknowledging.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "base/request_id.h"
#include "core/events.h"
#include "core/match_token.h"
#include "core/matches.h"

namespace muster {
namespace {

AllocationVerdict success_of(const MatchRecord& record) {
    return AllocationResponse::Accepted{record.lobby, record.server,
                                        GameEndpoint{IpText(record.server_ip), record.server_port},
                                        MatchTokenText(record.token), record.allocated_at};
}

}  // namespace

void Matches::request(const Pass& pass, const ReplyTo& reply_to, const Matchmaker& from,
                      const AllocationRequest& request, Time received, std::string id) {
    if (fleet_.region_known(request.region)) ++figures_.requests[request.region];
    lists_.mention(pass, request.lobby);
    const bool taken = queue_.takes(pass.now, received);
    if (Match* known = table_.find(request.lobby); known && known->record.matchmaker == from.id)
        return join(reply_to, *known);
    const std::uint64_t serial = next_serial_++;
    if (id.empty()) id = make_request_id(wall(), serial);
    if (const auto why = judged(from, request, taken)) return refuse(reply_to, request, id, *why);

    Match& match = table_.add(request.lobby);
    match.serial = serial;
    match.request_id = std::move(id);
    match.requested = pass.now;
    match.asks.push_back(reply_to);
    match.record.matchmaker = from.id;
    match.record.region = request.region;
    match.record.game_type = request.game_type;
    match.record.game_mode = request.game_mode;
    match.record.player_count = request.player_count;
    match.record.average_rating = request.average_rating;
    match.record.requested_at = wall();
    in_flight_.begin(from.id);
    const LobbyId lobby = request.lobby;
    match.limit = after(TimeBase::real, limit_delay(),
                        [this, lobby, serial](const Pass& then) { limit_reached(then, lobby, serial); });
    offer_next(pass, match);
}

// A-2, in its order. The store comes last: with it down no promise can be kept.
std::optional<Refusal> Matches::judged(const Matchmaker& from, const AllocationRequest& request, bool taken) const {
    if (shutting_down_) return Refusal::server_shutting_down;
    const bool has_room = in_flight_.has_room(from.id, config_.in_flight_max);
    if (!taken || !has_room || ledger_.congested() || ledger_.overloaded()) return Refusal::server_busy;
    if (request.lobby.value <= 0 || table_.find(request.lobby) ||
        (!planted(Bug::ended_lobby_again) && over_.find(request.lobby)))
        return Refusal::invalid_match_lobby_id;
    if (lists_.belongs_to_another(request.lobby, from.id)) return Refusal::invalid_match_lobby_id;
    if (!fleet_.region_known(request.region) || !from.serves(request.region)) return Refusal::region_not_supported;
    if (request.player_count < 1) return Refusal::invalid_player_count;
    if (!ledger_.store_up()) return Refusal::store_unavailable;
    return std::nullopt;
}

// the same lobby from the same matchmaker gets the same answer, whatever else it asks for.
void Matches::join(const ReplyTo& reply_to, Match& match) {
    if (match.offering() || match.doubted()) return wait_for_answer(reply_to, match);
    answer_success(reply_to, match);
}

void Matches::wait_for_answer(const ReplyTo& reply_to, Match& match) {
    if (match.asks.size() >= asks_max) return replies_.answer(reply_to, match.lobby(), Failure(Refusal::server_busy));
    match.asks.push_back(reply_to);
    // A request has its limit from the start. Who asks for a match in doubt waits no longer.
    if (!match.doubted() || match.asks.size() > 1) return;
    match.requested = time_.now();
    match.limit = after(
        TimeBase::real, limit_delay(),
        [this, lobby = match.lobby(), serial = match.serial](const Pass& pass) { limit_reached(pass, lobby, serial); });
}

void Matches::refuse_who_waits(Match& match, Refusal why) {
    for (const ReplyTo& reply_to : std::exchange(match.asks, {}))
        replies_.answer(reply_to, match.lobby(), Failure(why));
}

void Matches::refuse(const ReplyTo& reply_to, const AllocationRequest& request, std::string_view id, Refusal why) {
    replies_.answer(reply_to, request.lobby, Failure(why));
    if (why == Refusal::server_busy) return refused_busy(request, id);
    tell_refused({request.lobby, request.region, text(why), label(why), Duration{0}, std::string(id)});
    // Refused before it was known to be this matchmaker's lobby: its match may be well.
    const bool at_the_door = why == Refusal::invalid_match_lobby_id || why == Refusal::server_shutting_down;
    if (!at_the_door) lists_.tell_it_was_refused(request.lobby, text(why));
}

// A flood is refused with as little work as can be: each is counted, one a second is told in the log.
void Matches::refused_busy(const AllocationRequest& request, std::string_view id) {
    constexpr Refusal why = Refusal::server_busy;
    ++busy_untold_;
    if (const Time now = time_.now(); now >= busy_told_next_) {
        busy_told_next_ = now + std::chrono::seconds(1);
        log_.with(LogLevel::warning, {{"lobby_id", request.lobby.value}, {"request_id", id}},
                  "Refused {} requests for a server: {}", std::exchange(busy_untold_, 0), text(why));
    }
    events_.publish(
        event::MatchRefused{request.lobby, request.region, text(why), label(why), Duration{0}, std::string(id)});
}

void Matches::tell_refused(const event::MatchRefused& refused) {
    log_.with(LogLevel::info, {{"lobby_id", refused.lobby.value}, {"request_id", refused.request_id}},
              "Refused a request for a server: {}", refused.reason);
    events_.publish(refused);
}

// The record of the offer is the promise: with it on the disk, whatever the server does next is known to the next run,
// too. So it is waited for here, and nothing is after the acknowledgement.
void Matches::offer_next(const Pass& pass, Match& match) {
    if (const auto why = offers_.make(match, config_.retries, wall())) return fail(pass, match, *why);
    const LobbyId lobby = match.lobby();
    const std::uint64_t serial = match.serial;
    const std::size_t offers = match.offers();
    if (planted(Bug::offer_before_record)) {
        ledger_.write(match.record);
        return offer_recorded(pass, lobby, serial, offers, Kept::durable);
    }
    ledger_.write_promised(match.record, [this, lobby, serial, offers](Kept kept) {
        offer_recorded(time_.pass(), lobby, serial, offers, kept);
    });
}

void Matches::offer_recorded(const Pass& pass, LobbyId lobby, std::uint64_t serial, std::size_t offers, Kept kept) {
    Match* match = table_.find(lobby);
    // Withdrawn meanwhile, or with another server by now.
    if (!match || match->serial != serial || match->offers() != offers || !match->offering()) return;
    if (kept == Kept::anothers) return withdraw(pass, *match, Refusal::invalid_match_lobby_id, Reason::offer_withdrawn);
    // After a gap the store's word may be heard before the timer: too late all the same (fault 63).
    if (kept != Kept::durable || pass.now - match->requested >= config_.deadline)
        return withdraw(pass, *match, Refusal::store_unavailable, Reason::offer_withdrawn);
    if (!offers_.send(*match)) {
        events_.publish(event::MatchDeclined{lobby, match->record.server, "no longer available"});
        return offer_next(pass, *match);
    }
    match->offer = after(TimeBase::running, config_.ack_timeout,
                         [this, lobby, serial](const Pass& then) { offer_timed_out(then, lobby, serial); });
}

void Matches::offer_timed_out(const Pass& pass, LobbyId lobby, std::uint64_t serial) {
    Match* match = table_.find(lobby);
    if (!match || match->serial != serial || !match->offering()) return;
    match->offer_unanswered = true;
    events_.publish(event::MatchDeclined{lobby, match->record.server, "no answer in time"});
    offers_.take_back(*match, Reason::offer_withdrawn);
    offer_next(pass, *match);
}

void Matches::limit_reached(const Pass& pass, LobbyId lobby, std::uint64_t serial) {
    Match* match = table_.find(lobby);
    if (!match || match->serial != serial) return;
    if (match->doubted()) return refuse_who_waits(*match, Refusal::server_allocation_timeout);
    if (!match->offering()) return;
    // Not durable in time: the disk is too slow to promise anything.
    const Refusal why = match->sent ? Refusal::server_allocation_timeout : Refusal::store_unavailable;
    withdraw(pass, *match, why, Reason::offer_withdrawn);
}

void Matches::acknowledge(const Pass& pass, const Server& from, const AllocateMatchAck& ack) {
    Match* match = table_.find(ack.lobby);
    if (match && match->doubt == Match::Doubt::asked && match->record.server == from.id) {
        if (ack.accepted) return heard_of(pass, *match, from);
        return given_up(pass, *match);
    }
    // After a gap an answer may be heard before the timer: too late all the same (fault 63).
    const bool in_time =
        !match || planted(Bug::success_after_deadline) || pass.now - match->requested < config_.deadline;
    if (match && match->offering() && !in_time) limit_reached(pass, ack.lobby, match->serial);
    switch (offers_.answered(from, ack)) {
        case Offers::Answer::yes:
            return accept(pass, *match);
        case Offers::Answer::no:
            events_.publish(event::MatchDeclined{ack.lobby, from.id, "refused by the server"});
            return offer_next(pass, *match);
        case Offers::Answer::not_awaited:
            return;
    }
}

// Written, and not waited for: without this record the next run asks the server once more.
void Matches::accept(const Pass& pass, Match& match) {
    MatchRecord& record = match.record;
    record.state = MatchState::allocated;
    record.allocated_at = wall();
    start_expiry(match, config_.token_ttl);
    save(match);
    in_flight_.end(record.matchmaker);
    timers_.cancel(match.limit);
    log_.with(LogLevel::debug,
              {{"lobby_id", record.lobby.value}, {"server_id", record.server.value}, {"request_id", match.request_id}},
              "Allocated a match");
    events_.publish(event::MatchAllocated{record.lobby, record.region, record.server, record.matchmaker,
                                          pass.now - match.requested, match.request_id});
    for (const ReplyTo& reply_to : std::exchange(match.asks, {})) answer_success(reply_to, match);
}

void Matches::answer_success(const ReplyTo& reply_to, Match& match) {
    if (ledger_.may_answer()) return tell_success(reply_to, match);
    answer_when_allowed(reply_to, match);
}

// Another node may have the cell by now: a batch of ours has to be durable first (N-4). Nothing else waits for it
// (N-9).
void Matches::answer_when_allowed(ReplyTo reply_to, const Match& match) {
    reply_to.lobby = match.lobby();  // a question has none
    const std::uint64_t serial = match.serial;
    if (!ledger_.store_up()) return not_allowed(reply_to, serial);
    // Whose request it was waits since then; who asks again, since now.
    const Duration waited = match.promised ? Duration::zero() : time_.now() - match.requested;
    const TimerId limit = after(TimeBase::real, std::max<Duration>(limit_delay() - waited, Timers::delay_least),
                                [this, reply_to, serial](const Pass&) { not_allowed(reply_to, serial); });
    ledger_.promise_written([this, reply_to, serial, limit](Kept kept) {
        if (!timers_.cancel(limit)) return;  // it was too late
        Match* present = table_.find(reply_to.lobby);
        const bool stands = present && present->serial == serial;
        if (kept != Kept::durable || !stands) return not_allowed(reply_to, serial);
        tell_success(reply_to, *present);
    });
}

void Matches::tell_success(const ReplyTo& reply_to, Match& match) {
    replies_.answer(reply_to, match.lobby(), success_of(match.record), !match.answered);
    match.promised = true;
    const Link* link = links_.find(reply_to.link);
    const bool first = !match.answered;
    if (link && !link->closing) match.answered = true;
    if (first && match.answered) news_.tell(match.record);
}

// What is refused stays so: a match that nobody was promised is taken back.
void Matches::not_allowed(const ReplyTo& reply_to, std::uint64_t serial) {
    replies_.answer(reply_to, reply_to.lobby, Failure(Refusal::store_unavailable));
    Match* match = table_.find(reply_to.lobby);
    if (!match || match->serial != serial || match->promised) return;
    over(time_.pass(), *match, MatchState::aborted, text(Reason::offer_withdrawn));
}

// The request came to nothing: all who wait hear why, and the lobby may be asked for again.
void Matches::fail(const Pass& pass, Match& match, Refusal why) {
    refuse_who_waits(match, why);
    tell_refused(
        {match.lobby(), match.record.region, text(why), label(why), pass.now - match.requested, match.request_id});
    // The lobby of another cell: its match may be well.
    if (why != Refusal::invalid_match_lobby_id) lists_.tell_it_fell_through(match.lobby(), text(why));
    if (match.offers() > 0) ledger_.write(MatchForgotten{match.lobby()});
    forget(match);
}

// Takes a request back from whichever server has it, and fails it.
void Matches::withdraw(const Pass& pass, Match& match, Refusal why, Reason reason) {
    MUSTER_CHECK(match.offering(), "a promise that was made is not withdrawn");
    offers_.take_back(match, reason);
    fail(pass, match, why);
}

void Matches::cancel(const Pass& pass, const ReplyTo& reply_to, const Matchmaker& from, LobbyId lobby) {
    Match* match = table_.find(lobby);
    if (!match || match->record.matchmaker != from.id) {
        const ReasonText not_found(text(Reason::match_not_found));
        return replies_.answer(reply_to, MatchEventNotice{lobby, MatchEventKind::aborted, not_found});
    }
    // The event that tells of the abort is the answer. It leaves when it is durable, so that no crash undoes it;
    // without the disk at once, and in a request's time at the latest, since it has no form for a failure.
    if (!match->offering()) {
        return over(pass, *match, MatchState::aborted, text(Reason::cancelled),
                    {.to_who_waits = Refusal::allocation_cancelled, .cancelled = reply_to});
    }
    withdraw(pass, *match, Refusal::allocation_cancelled, Reason::cancelled);
    ledger_.promise_written([this, reply_to, limit = limit_cancel(reply_to)](Kept) {
        timers_.cancel(limit);
        answer_cancel(reply_to);
    });
}

TimerId Matches::limit_cancel(const ReplyTo& reply_to) {
    return after(TimeBase::real, limit_delay(), [this, reply_to](const Pass&) { answer_cancel(reply_to); });
}

void Matches::answer_cancel(const ReplyTo& reply_to) {
    const ReasonText cancelled(text(Reason::cancelled));
    replies_.answer(reply_to, MatchEventNotice{reply_to.lobby, MatchEventKind::aborted, cancelled});
}

void Matches::players(const Pass& pass, const ReplyTo& reply_to, const Matchmaker& from, const MatchPlayers& list) {
    lists_.set(pass, reply_to, from.id, list, limit_delay());
}

void Matches::shut_down(const Pass& pass) {
    shutting_down_ = true;
    lists_.shut_down();
    std::vector<LobbyId> waited_for;
    table_.for_each([&](const Match& match) {
        if (match.offering() || !match.asks.empty()) waited_for.push_back(match.lobby());
    });
    for (const LobbyId lobby : waited_for) {
        Match& match = *table_.find(lobby);
        if (match.offering()) {
            withdraw(pass, match, Refusal::server_shutting_down, Reason::server_shutting_down);
        } else {
            refuse_who_waits(match, Refusal::server_shutting_down);
        }
    }
}

}  // namespace muster
