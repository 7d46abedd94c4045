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
    ++parts_.figures.refused(why);
    parts_.replies.answer(reply_to, seat_refused(request.lobby, request.account, why));
}

void Seats::take(const ReplyTo& reply_to, Match& match, AccountId account, Duration limit) {
    if (!planted(Bug::token_check_not_atomic)) match.used.push_back(account);
    const std::uint64_t number = next_number_++;
    const TimerId timer = parts_.timers.start({.first_delay = limit, .base = TimeBase::real},
                                              [this, number](const TimerFired&) { too_late(number); });
    in_flight_[number] = {reply_to, match.lobby(), match.serial, account, timer};
    parts_.ledger.write_promised(TokenUsed{match.lobby(), account},
                                 [this, number](Kept kept) { settled(number, kept == Kept::durable); });
}

void Seats::settled(std::uint64_t number, bool durable) {
    const auto found = in_flight_.extract(number);
    if (found.empty()) return;  // was too late, and is taken back
    const InFlight& use = found.mapped();
    parts_.timers.cancel(use.limit);
    Match* match = match_of(use);
    if (durable && match) {
        if (planted(Bug::token_check_not_atomic)) match->used.push_back(use.account);
        ++parts_.figures.tokens_accepted;
        return parts_.replies.answer(use.reply_to,
                                     ValidateTokenResponse{ValidateTokenResponse::Accepted{use.lobby, use.account}});
    }
    // Either the disk did not take it, or the match is over.
    if (match) give_back(*match, use.account);
    refuse(use, durable ? Refusal::invalid_match_token : Refusal::store_unavailable);
}

// A use waits for the disk for a request's time at most. The account is not let in, so its use must not count, should
// it become durable after all: the record that releases it is written after it.
void Seats::too_late(std::uint64_t number) {
    const auto found = in_flight_.extract(number);
    MUSTER_CHECK(!found.empty(), "a settled use's timer is cancelled");
    const InFlight& use = found.mapped();
    if (Match* match = match_of(use)) {
        parts_.ledger.write(TokenReleased{use.lobby, use.account});
        give_back(*match, use.account);
    }
    refuse(use, Refusal::store_unavailable);
}

void Seats::refuse(const InFlight& use, Refusal why) {
    ++parts_.figures.refused(why);
    parts_.replies.answer(use.reply_to, seat_refused(use.lobby, use.account, why));
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
