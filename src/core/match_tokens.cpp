// Letting players in: one account once, on the right server, in time (K-1 … K-3).
#include <algorithm>

#include "base/check.h"
#include "core/events.h"
#include "core/match_token.h"
#include "core/matches.h"

namespace muster {
namespace {

ValidateTokenResponse refused(LobbyId lobby, AccountId account, Refusal why) {
    return {ValidateTokenResponse::Refused{lobby, account, ErrorText(text(why))}};
}

}  // namespace

void Matches::validate(const Pass& pass, const ReplyTo& reply_to, const Server& from, const ValidateToken& request) {
    fleet_.validates_tokens(from.id);
    if (const auto why = token_refusal(pass, from, request)) {
        ++figures_.refused(*why);
        return replies_.answer(reply_to, refused(request.lobby, request.account, *why));
    }
    // Used from this moment on, and durable before anybody is told so.
    Match& match = *table_.find(request.lobby);
    heard_of(pass, match, from);
    match.used.push_back(request.account);
    const std::uint64_t number = next_serial_++;
    const TimerId limit = after(TimeBase::real, limit_delay(), [this, number](const Pass&) { use_too_late(number); });
    uses_in_flight_[number] = {reply_to, request.lobby, match.serial, match.offers, request.account, limit};
    ledger_.write_promised(TokenUsed{request.lobby, request.account},
                           [this, number](bool durable) { use_settled(number, durable); });
}

// K-2, in its order. The first check is the caller's: `from` is registered and speaks for itself.
std::optional<Refusal> Matches::token_refusal(const Pass& pass, const Server& from, const ValidateToken& request) {
    Match* match = table_.find(request.lobby);
    // Only the exact text counts; whatever the stamp inside says is never read.
    if (!match || match->offering() || match->ended_early || !same_text(match->record.token, request.token.view())) {
        wrong_token(pass, from, request.lobby, match ? match->wrong_tokens : wrong_tokens_elsewhere_);
        return Refusal::invalid_match_token;
    }
    if (const auto* listed = accounts(request.lobby);
        listed && !std::binary_search(listed->begin(), listed->end(), request.account)) {
        return Refusal::invalid_match_token;
    }
    if (match->record.server != from.id) return Refusal::server_not_allocated;
    if (pass.now >= match->token_expires) return Refusal::match_token_expired;
    const bool used = std::find(match->used.begin(), match->used.end(), request.account) != match->used.end();
    const bool full = match->used.size() >= static_cast<std::size_t>(match->record.player_count);
    if (used || full || match->record.state == MatchState::started) return Refusal::match_token_already_used;
    if (!ledger_.store_up() || ledger_.congested()) return Refusal::store_unavailable;
    return std::nullopt;
}

// Told to operators, and never held against the right token: else anybody could keep a match's players out (fault 68).
void Matches::wrong_token(const Pass& pass, const Server& from, LobbyId lobby, WrongTokens& wrong) {
    if (!wrong.add(pass.now)) return;
    log_.with(LogLevel::warning, {{"lobby_id", lobby.value}, {"server_id", from.id.value}},
              "Ten wrong match tokens within a minute");
    events_.publish(event::MatchWrongTokens{lobby, from.id, WrongTokens::told_from});
}

void Matches::use_settled(std::uint64_t number, bool durable) {
    const auto settled = uses_in_flight_.extract(number);
    if (settled.empty()) return;  // was too late, and is taken back
    const UseInFlight& use = settled.mapped();
    timers_.cancel(use.limit);
    Match* match = match_of(use);
    if (durable && match) {
        ++figures_.tokens_accepted;
        return replies_.answer(use.reply_to,
                               ValidateTokenResponse{ValidateTokenResponse::Accepted{use.lobby, use.account}});
    }
    // Either the disk did not take it, or the match is over or with another server by now.
    const Refusal why = durable ? Refusal::invalid_match_token : Refusal::store_unavailable;
    if (match) take_back(*match, use.account);
    ++figures_.refused(why);
    replies_.answer(use.reply_to, refused(use.lobby, use.account, why));
}

// A use waits for the disk for a request's time at most. The account is not let in, so its use must not count, should
// it become durable after all: the record that releases it is written after it.
void Matches::use_too_late(std::uint64_t number) {
    const auto late = uses_in_flight_.extract(number);
    MUSTER_CHECK(!late.empty(), "a settled use's timer is cancelled");
    const UseInFlight& use = late.mapped();
    if (Match* match = match_of(use)) {
        ledger_.write(TokenReleased{use.lobby, use.account});
        take_back(*match, use.account);
    }
    ++figures_.refused(Refusal::store_unavailable);
    replies_.answer(use.reply_to, refused(use.lobby, use.account, Refusal::store_unavailable));
}

// Null when the match that the use was for is over, or was moved to another server.
Match* Matches::match_of(const UseInFlight& use) {
    Match* match = table_.find(use.lobby);
    const bool same = match && match->serial == use.serial && match->offers == use.offer && !match->offering();
    return same ? match : nullptr;
}

// May end the match: when its token has expired meanwhile, and this was the only one who came.
void Matches::take_back(Match& match, AccountId account) {
    std::erase(match.used, account);
    const Pass pass = time_.pass();
    if (pass.now >= match.token_expires) expiry_due(pass, match.lobby(), match.serial);
}

// The match goes to another server with another token: nobody has used that one.
void Matches::release_uses(Match& match) {
    for (const AccountId account : match.used) ledger_.write(TokenReleased{match.lobby(), account});
    match.used.clear();
}

}  // namespace muster
