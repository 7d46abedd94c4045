#include "core/seats.h"

#include <algorithm>

#include "base/check.h"
#include "base/planted.h"
#include "core/events.h"
#include "core/match_token.h"

namespace muster {
namespace {

ValidateTokenResponse seat_refused(LobbyId lobby, AccountId account, Refusal why) {
    return {ValidateTokenResponse::Refused{lobby, account, ErrorText(text(why))}};
}

}  // namespace

// K-2, in its order. The first check is the caller's: `from` is registered and speaks for itself.
std::optional<Refusal> Seats::refusal(const Pass& pass, const Server& from, const ValidateToken& request) {
    Match* match = parts_.matches.find(request.lobby);
    // Only the exact text counts; whatever the stamp inside says is never read.
    if (!match || match->offering() || !same_text(match->record.token, request.token.view())) {
        wrong_token(pass, from, request.lobby, match ? match->wrong_tokens : wrong_tokens_elsewhere_);
        return Refusal::invalid_match_token;
    }
    if (const auto* listed = parts_.lists.accounts(request.lobby);
        listed && !std::binary_search(listed->begin(), listed->end(), request.account)) {
        return Refusal::invalid_match_token;
    }
    if (match->record.server != from.id) return Refusal::server_not_allocated;
    if (pass.now >= match->token_expires && !planted(Bug::token_outlives_its_time)) return Refusal::match_token_expired;
    const bool used = std::find(match->used.begin(), match->used.end(), request.account) != match->used.end();
    const bool full = match->used.size() >= static_cast<std::size_t>(match->record.player_count) +
                                                (planted(Bug::one_player_too_many) ? 1 : 0);
    if (used || full || match->record.state == MatchState::started) return Refusal::match_token_already_used;
    if (!parts_.ledger.store_up() || parts_.ledger.congested()) return Refusal::store_unavailable;
    return std::nullopt;
}

// Told to operators, and never held against the right token: else anybody could keep a match's players out (fault 68).
void Seats::wrong_token(const Pass& pass, const Server& from, LobbyId lobby, WrongTokens& wrong) {
    if (!wrong.add(pass.now)) return;
    if (Match* match = parts_.matches.find(lobby); match && planted(Bug::guesses_block_the_token))
        match->token_expires = pass.now;
    parts_.log.with(LogLevel::warning, {{"lobby_id", lobby.value}, {"server_id", from.id.value}},
                    "Ten wrong match tokens within a minute");
    parts_.events.publish(event::MatchWrongTokens{lobby, from.id, WrongTokens::told_from});
}

void Seats::refuse(const ReplyTo& reply_to, const ValidateToken& request, Refusal why) {
    if (why == Refusal::match_token_already_used) {
        if (InFlight* use = in_flight(request.lobby, request.account)) {
            if (use->again.size() < again_max) return use->again.push_back(reply_to);
            why = Refusal::store_unavailable;
        }
    }
    refuse_one(reply_to, request.lobby, request.account, why);
}

void Seats::take(const ReplyTo& reply_to, Match& match, AccountId account, Duration limit) {
    if (!planted(Bug::token_check_not_atomic)) match.used.push_back(account);
    const std::uint64_t number = next_number_++;
    const TimerId timer = parts_.timers.start({.first_delay = limit, .base = TimeBase::real},
                                              [this, number](const TimerFired&) { too_late(number); });
    in_flight_[number] = {reply_to, match.lobby(), match.serial, account, timer};
    number_of_[{match.lobby(), account}] = number;
    parts_.ledger.write_promised(TokenUsed{match.lobby(), account},
                                 [this, number](Kept kept) { settled(number, kept == Kept::durable); });
}

void Seats::settled(std::uint64_t number, bool durable) {
    const auto use = take_in_flight(number);
    if (!use) return;  // was too late, and is taken back
    parts_.timers.cancel(use->limit);
    Match* match = match_of(*use);
    if (durable && match) {
        if (planted(Bug::token_check_not_atomic)) match->used.push_back(use->account);
        ++parts_.figures.tokens_accepted;
        parts_.replies.answer(use->reply_to,
                              ValidateTokenResponse{ValidateTokenResponse::Accepted{use->lobby, use->account}});
        return refuse_again(*use, Refusal::match_token_already_used);
    }
    // Either the disk did not take it, or the match is over.
    if (match) give_back(*match, use->account);
    refuse(*use, durable ? Refusal::invalid_match_token : Refusal::store_unavailable);
}

// A use waits for the disk for a request's time at most. The account is not let in, so its use must not count, should
// it become durable after all: the record that releases it is written after it.
void Seats::too_late(std::uint64_t number) {
    const auto use = take_in_flight(number);
    MUSTER_CHECK(use.has_value(), "a settled use's timer is cancelled");
    if (Match* match = match_of(*use)) {
        parts_.ledger.write(TokenReleased{use->lobby, use->account});
        give_back(*match, use->account);
    }
    refuse(*use, Refusal::store_unavailable);
}

Seats::InFlight* Seats::in_flight(LobbyId lobby, AccountId account) {
    const auto number = number_of_.find({lobby, account});
    if (number == number_of_.end()) return nullptr;
    InFlight& use = in_flight_.at(number->second);
    return match_of(use) ? &use : nullptr;
}

std::optional<Seats::InFlight> Seats::take_in_flight(std::uint64_t number) {
    auto found = in_flight_.extract(number);
    if (found.empty()) return std::nullopt;
    const auto latest = number_of_.find({found.mapped().lobby, found.mapped().account});
    // A lobby that came again may have a newer one.
    if (latest != number_of_.end() && latest->second == number) number_of_.erase(latest);
    return std::move(found.mapped());
}

void Seats::refuse(const InFlight& use, Refusal why) {
    refuse_one(use.reply_to, use.lobby, use.account, why);
    refuse_again(use, why);
}

void Seats::refuse_again(const InFlight& use, Refusal why) {
    for (const ReplyTo& reply_to : use.again) refuse_one(reply_to, use.lobby, use.account, why);
}

void Seats::refuse_one(const ReplyTo& reply_to, LobbyId lobby, AccountId account, Refusal why) {
    ++parts_.figures.refused(why);
    parts_.replies.answer(reply_to, seat_refused(lobby, account, why));
}

// Null when the match that the use was for is over.
Match* Seats::match_of(const InFlight& use) {
    Match* match = parts_.matches.find(use.lobby);
    return match && match->serial == use.serial ? match : nullptr;
}

void Seats::give_back(Match& match, AccountId account) {
    std::erase(match.used, account);
    vacated_.push_back(match.lobby());
}

}  // namespace muster
