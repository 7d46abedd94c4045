// Letting players in: one account once, on the right server, in time (K-1 … K-3).
#include <algorithm>

#include "base/check.h"
#include "core/match_token.h"
#include "core/matches.h"

namespace muster {
namespace {

constexpr std::chrono::minutes guess_window{1};

ValidateTokenResponse refused(LobbyId lobby, AccountId account, Refusal why) {
    return {ValidateTokenResponse::Refused{lobby, account, ErrorText(text(why))}};
}

}  // namespace

void Matches::validate(const Pass& pass, const Ticket& ticket, const Server& from, const ValidateToken& request) {
    if (const auto why = token_refusal(pass, from, request)) {
        ++figures_.refused(*why);
        return links_.answer(ticket, refused(request.lobby, request.account, *why));
    }
    // Used from this moment on, and durable before anybody is told so.
    Match& match = *mutable_find(request.lobby);
    match.used.push_back(request.account);
    const std::uint64_t serial = match.serial;
    ledger_.write_promised(TokenUsed{request.lobby, request.account},
                           [this, ticket, lobby = request.lobby, serial, account = request.account](bool durable) {
                               token_use_settled(ticket, lobby, serial, account, durable);
                           });
}

// K-2, in its order. The first check is the caller's: `from` is registered and speaks for itself.
std::optional<Refusal> Matches::token_refusal(const Pass& pass, const Server& from, const ValidateToken& request) {
    Match* match = mutable_find(request.lobby);
    GuessCount& guesses = match ? match->guesses : unknown_lobby_guesses_;
    if (guessing_blocked(pass, guesses)) return Refusal::invalid_match_token;
    // Only the exact text counts; whatever the stamp inside says is never read.
    if (!match || match->offering() || match->ended_early || !same_text(match->record.token, request.token.view())) {
        wrong_guess(pass, guesses);
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

bool Matches::guessing_blocked(const Pass& pass, GuessCount& guesses) {
    return pass.now < guesses.blocked_until;
}

void Matches::wrong_guess(const Pass& pass, GuessCount& guesses) {
    if (pass.now - guesses.window_start >= Duration(guess_window)) {
        guesses.window_start = pass.now;
        guesses.wrong = 0;
    }
    if (++guesses.wrong >= config_.token_guesses_per_minute) guesses.blocked_until = pass.now + guess_window;
}

void Matches::token_use_settled(const Ticket& ticket, LobbyId lobby, std::uint64_t serial, AccountId account,
                                bool durable) {
    Match* match = mutable_find(lobby);
    if (match && match->serial != serial) match = nullptr;
    if (!durable) {
        if (match) std::erase(match->used, account);
        ++figures_.refused(Refusal::store_unavailable);
        return links_.answer(ticket, refused(lobby, account, Refusal::store_unavailable));
    }
    if (!match) {  // over in the meantime
        ++figures_.refused(Refusal::invalid_match_token);
        return links_.answer(ticket, refused(lobby, account, Refusal::invalid_match_token));
    }
    ++figures_.tokens_accepted;
    links_.answer(ticket, ValidateTokenResponse{ValidateTokenResponse::Accepted{lobby, account}});
}

}  // namespace muster
