#include "sdk/src/game_server_state.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "protocol/error_texts.h"
#include "protocol/text.h"
#include "sdk/src/earliest.h"

namespace muster::sdk {

namespace {

using Stage = HeldMatch::Stage;

// As many as a server may say it can hold (F-1).
constexpr std::int32_t own_matches_max = 10'000;

float percentage(float value) {
    return std::isfinite(value) ? std::clamp(value, 0.0F, 100.0F) : 0.0F;
}

}  // namespace

bool GameServer::State::answer(LobbyId lobby, OfferAnswer answer) {
    HeldMatch* match = matches_.find(lobby);
    if (!match || match->stage != Stage::offered) return false;
    if (answer == OfferAnswer::later) return true;

    const bool accepted = answer == OfferAnswer::accept;
    link_.send(AllocateMatchAck{.accepted = accepted, .lobby = wire(lobby)});
    if (accepted) {
        matches_.accept(lobby);
    } else {
        matches_.erase(lobby);
    }
    return true;
}

bool GameServer::State::ready(LobbyId lobby) {
    HeldMatch* match = held(lobby);
    if (!match) return false;
    if (match->stage != Stage::accepted) return true;
    match->stage = Stage::ready;
    send_ready(lobby, *match);
    return true;
}

bool GameServer::State::start(LobbyId lobby) {
    HeldMatch* match = held(lobby);
    if (!match) return false;
    if (match->stage == Stage::started) return true;
    match->stage = Stage::started;
    match->told = false;
    send_started(lobby);
    return true;
}

bool GameServer::State::end(LobbyId lobby) {
    if (answer(lobby, OfferAnswer::decline)) return true;
    if (!matches_.find(lobby)) return false;
    matches_.end(lobby);
    send_ended(lobby);
    return true;
}

void GameServer::State::take_over(const Offer& match, MatchStage stage) {
    matches_.offer(match.lobby, match.token, now_);
    matches_.accept(match.lobby);
    HeldMatch& held = *matches_.find(match.lobby);
    if (stage == MatchStage::ready) held.stage = Stage::ready;
    if (stage == MatchStage::started) held.stage = Stage::started;
}

void GameServer::State::validate(Validation validation) {
    const auto fail = [&](ErrorCode code, std::string text) {
        owe([done = std::move(validation.done), outcome = Outcome{code, std::move(text)}] {
            if (done) done(outcome);
        });
    };
    if (link_state_ == LinkState::closed || farewell_)
        return fail(ErrorCode::closed, "The game server has left Muster");
    // No such token was ever given out; Muster would take the message for a malformed one and close the link.
    if (!MatchTokenText::fits(validation.token) || !is_utf8(validation.token)) {
        return fail(ErrorCode::invalid_match_token, std::string(text(Refusal::invalid_match_token)));
    }
    if (validations_.full()) return fail(ErrorCode::too_many_requests, "Too many tokens wait for Muster's answer");
    validation.answer_by = now_ + options_.validate_timeout;
    send_validation(validations_.add(std::move(validation)));
}

void GameServer::State::drain(bool draining) {
    if (farewell_) return;
    draining_ = draining;
    send_draining();
}

void GameServer::State::leave(Farewell how) {
    if (link_state_ == LinkState::closed || farewell_) return;
    for (const LobbyId lobby : matches_.give_up())
        link_.send(AllocateMatchAck{.accepted = false, .lobby = wire(lobby)});
    for (auto& done : validations_.give_up()) {
        owe([done = std::move(done)] { done({ErrorCode::closed, "The game server has left Muster"}); });
    }
    farewell_ = how;
    leave_by_ = now_ + options_.goodbye_timeout;
    leave_if_due();
}

void GameServer::State::leave_if_due() {
    if (farewell_ && (matches_.ended().empty() || now_ >= leave_by_)) say_farewell(*std::exchange(farewell_, {}));
}

void GameServer::State::say_farewell(Farewell how) {
    if (link_.online()) {
        if (how == Farewell::goodbye) link_.send(ServerGoodbye{.server = wire_id()});
        if (how == Farewell::crashed) link_.send(ServerCrashed{.server = wire_id()});
    }
    link_.close();
    heartbeats_.stop();
    matches_.clear();
    left(LinkState::closed);
}

// The match, with its offer accepted if that was still open.
HeldMatch* GameServer::State::held(LobbyId lobby) {
    answer(lobby, OfferAnswer::accept);
    return matches_.find(lobby);
}

void GameServer::State::greet() {
    greeted_at_ = now_;
    link_.send(ServerHandshake{.token = options_.token,
                               .endpoint = {.ip = options_.ip, .port = options_.port},
                               .region = muster::RegionId(options_.region.value),
                               .max_matches = options_.max_matches});
}

void GameServer::State::link_lost() {
    heartbeats_.stop();
    validations_.link_lost();
    for (const LobbyId lobby : matches_.link_lost()) {
        call(user_.on_abort, lobby, std::string_view("Connection lost"));
    }
}

std::optional<WireError> GameServer::State::hear(std::span<const std::byte> bytes) {
    const auto fault = link_.receive<Port::servers>(bytes, [this](const auto& message) { take(message); });
    leave_if_due();
    return fault;
}

void GameServer::State::work(Time now) {
    for (const LobbyId lobby : matches_.offers_expired(now)) {
        answer(lobby, OfferAnswer::decline);
        call(user_.on_abort, lobby, std::string_view("Not answered in time"));
    }
    for (const auto& done : validations_.expired(now)) {
        call(done, Outcome{ErrorCode::no_answer, "No answer to the token"});
    }
    if (link_.online() && heartbeats_.overdue(now)) {
        tell(ErrorCode::no_answer, "No answer to a heartbeat");
        heartbeats_.stop();
        link_.drop();
    }
    if (link_.online() && reports_retry_at_ && now >= *reports_retry_at_) send_reports();
    if (link_.online() && heartbeats_.due(now)) send_heartbeat();
    if (id_ && link_state_ != LinkState::closed && now >= lease_end()) set_link_state(LinkState::isolated);
    leave_if_due();
}

std::optional<Time> GameServer::State::next_work() const {
    std::optional<Time> lease;
    if (id_ && (link_state_ == LinkState::online || link_state_ == LinkState::connecting)) lease = lease_end();
    std::optional<Time> leave_by;
    if (farewell_) leave_by = leave_by_;
    const std::optional<Time> next =
        earliest({link_.next_tick(), matches_.next_expiry(), validations_.next_expiry(), lease, leave_by});
    return link_.online() ? earliest({next, heartbeats_.next_tick(), reports_retry_at_}) : next;
}

// Says again what Muster may have missed. The heartbeat comes last: its count is what the reports leave.
void GameServer::State::resume() {
    send_draining();
    send_reports();
    for (Validation& validation : validations_.waiting()) send_validation(validation);
    send_heartbeat();
}

void GameServer::State::send_heartbeat() {
    guarded([&] {
        if (user_.on_load) load_ = user_.on_load();
    });
    if (!link_.online()) return;
    heartbeats_.sent(now_);
    link_.send(
        ServerHeartbeat{.server = wire_id(),
                        .match_count = matches_.match_count() + std::clamp(load_.own_matches, 0, own_matches_max),
                        .cpu_percent = percentage(load_.cpu_percent),
                        .memory_percent = percentage(load_.memory_percent)});
}

// All that is not answered. Repeats do no harm: Muster answers them as it did before.
void GameServer::State::send_reports() {
    reports_retry_at_.reset();
    for (const auto& [lobby, match] : matches_.matches()) {
        if (match.told) continue;
        if (match.stage == Stage::ready) send_ready(lobby, match);
        if (match.stage == Stage::started) send_started(lobby);
    }
    for (const LobbyId lobby : matches_.ended()) send_ended(lobby);
}

void GameServer::State::send_ready(LobbyId lobby, const HeldMatch& match) {
    if (link_.online()) {
        link_.send(ReadyForMatch{.server = wire_id(), .lobby = wire(lobby), .token = match.token});
    }
}

void GameServer::State::send_started(LobbyId lobby) {
    if (!link_.online()) return;
    matches_.sent(MatchTable::Report::started, lobby);
    link_.send(MatchStartedReport{.server = wire_id(), .lobby = wire(lobby)});
}

void GameServer::State::send_ended(LobbyId lobby) {
    if (!link_.online()) return;
    matches_.sent(MatchTable::Report::ended, lobby);
    link_.send(MatchEndedReport{.server = wire_id(), .lobby = wire(lobby)});
}

void GameServer::State::send_validation(Validation& validation) {
    if (!link_.online() || validation.sent) return;
    validation.sent = true;
    link_.send(ValidateToken{.server = wire_id(),
                             .lobby = wire(validation.lobby),
                             .account = muster::AccountId(validation.account.value),
                             .token = validation.token});
}

// Muster keeps the flag over a reconnect, but not over a removal: so it is said at each registration. It also keeps it
// for another process at this address, which may be the one before this: so a newcomer says that it takes matches.
void GameServer::State::send_draining() {
    if (!link_.online() || (!draining_ && !newcomer_)) return;
    link_.send(SetDraining{.server = wire_id(), .draining = draining_.value_or(false)});
}

// What was asked before anyone said what time it is, was asked now.
void GameServer::State::time_known(Time now) {
    validations_.postpone(now - now_);
    leave_by_ += now - now_;
}

}  // namespace muster::sdk
