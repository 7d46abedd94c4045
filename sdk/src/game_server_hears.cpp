#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <variant>

#include "muster/outcome.h"
#include "protocol/answer_forms.h"
#include "sdk/src/game_server_state.h"
#include "sdk/src/refusals.h"

namespace muster::sdk {

namespace {

using Stage = HeldMatch::Stage;

// A report that Muster could not take just now is repeated after this.
constexpr std::chrono::seconds report_retry{1};

LobbyId lobby_of(const auto& message) {
    return LobbyId(message.lobby.value);
}

// Muster does not know of the match, or gave it to another: repeating the report would not help.
bool match_is_gone(ErrorCode code) {
    return code == ErrorCode::match_not_found || code == ErrorCode::server_not_allocated ||
           code == ErrorCode::invalid_match_token || code == ErrorCode::match_already_ended;
}

// Muster holds no registration for this link.
bool must_register_anew(ErrorCode code) {
    return code == ErrorCode::server_not_registered || code == ErrorCode::server_disconnected;
}

}  // namespace

std::string GameServer::State::endpoint() const {
    const bool is_v6 = options_.ip.find(':') != std::string::npos;
    return (is_v6 ? "[" + options_.ip + "]" : options_.ip) + ":" + std::to_string(options_.port);
}

void GameServer::State::take(const ServerHandshakeResponse& message) {
    if (link_.stage() != Link::Stage::greeting) return;
    if (const auto* no = std::get_if<ServerHandshakeResponse::Refused>(&message.answer)) {
        tell(handshake_refused(no->error.view(), "game server " + endpoint()));
        link_.drop();
        return;
    }
    const auto& yes = std::get<ServerHandshakeResponse::Accepted>(message.answer);
    link_.greeted();
    id_ = ServerId(yes.server.value);
    acknowledged(greeted_at_, yes.time);
    heartbeats_.begin(now_);
    resume();
    set_link_state(LinkState::online);
}

void GameServer::State::take(const ServerHeartbeatAck& message) {
    const auto sent = heartbeats_.answered();
    if (const auto* no = std::get_if<ServerHeartbeatAck::Refused>(&message.answer)) {
        const Outcome outcome = refused(no->error.view());
        tell(outcome);
        if (must_register_anew(outcome.code)) link_.drop();
        // Bad figures are still a sign of life (F-4).
        if (sent && outcome.code == ErrorCode::invalid_load_report)
            acknowledged_at_ = std::max(acknowledged_at_, *sent);
        return;
    }
    if (!sent) return;
    newcomer_ = false;  // what was said before that heartbeat has arrived
    link_.proven();
    acknowledged(*sent, std::get<ServerHeartbeatAck::Accepted>(message.answer).time);
    if (now_ < lease_end()) set_link_state(LinkState::online);
}

void GameServer::State::acknowledged(Time sent, UnixMs stamp) {
    acknowledged_at_ = std::max(acknowledged_at_, sent);
    clock_.add({.sent = sent, .received = now_, .stamp = std::chrono::milliseconds(stamp.value)});
}

void GameServer::State::take(const AllocateMatch& message) {
    if (!link_.online()) return;
    const LobbyId lobby = lobby_of(message);
    if (const HeldMatch* match = matches_.find(lobby)) {
        if (match->token == message.token.view()) {
            // Said twice. An open offer is answered when the user decides.
            if (match->stage != Stage::offered) link_.send(AllocateMatchAck{.accepted = true, .lobby = wire(lobby)});
            return;
        }
        // Muster offers what it does not know to be here: our acknowledgement of the other attempt was lost.
        drop_match(lobby, "Offered anew");
    }
    matches_.offer(lobby, message.token.string(), now_ + options_.offer_timeout);
    if (!may_host()) {
        answer(lobby, OfferAnswer::decline);
        return;
    }
    OfferAnswer answered = OfferAnswer::decline;
    guarded([&] {
        if (user_.on_offer)
            answered = user_.on_offer({lobby, message.game_type, message.game_mode, message.token.string()});
    });
    answer(lobby, answered);
}

// The offer in question is in the table already.
bool GameServer::State::may_host() const {
    const bool room = matches_.size() <= static_cast<std::size_t>(options_.max_matches);
    // Without an acknowledgement for so long, Muster may have given us up and be placing our matches anew (fault 30).
    const bool lease_holds = now_ < lease_end();
    return room && lease_holds && !draining_.value_or(false) && !farewell_;
}

void GameServer::State::take(const ReadyForMatchResponse& message) {
    if (const auto* no = std::get_if<LobbyRefused>(&message.answer)) {
        report_refused(lobby_of(*no), refused(no->error.view()));
        return;
    }
    HeldMatch* match = matches_.find(lobby_of(std::get<LobbyAccepted>(message.answer)));
    if (match && match->stage == Stage::ready) match->told = true;
}

void GameServer::State::take(const MatchResponse& message) {
    const LobbyId lobby = std::visit([](const auto& form) { return lobby_of(form); }, message.answer);
    const auto report = matches_.answered(lobby);
    if (!report) return;
    if (const auto* no = std::get_if<LobbyRefused>(&message.answer)) {
        report_refused(lobby, refused(no->error.view()));
        return;
    }
    if (*report == MatchTable::Report::ended) matches_.end_told(lobby);
    HeldMatch* match = matches_.find(lobby);
    if (match && *report == MatchTable::Report::started) match->told = true;
}

void GameServer::State::report_refused(LobbyId lobby, const Outcome& outcome) {
    if (match_is_gone(outcome.code)) {
        matches_.end_told(lobby);
        drop_match(lobby, outcome.text);
        return;
    }
    tell(outcome);
    if (must_register_anew(outcome.code)) {
        link_.drop();
    } else {
        reports_retry_at_ = now_ + report_retry;
    }
}

void GameServer::State::take(const ValidateTokenResponse& message) {
    const auto lobby = std::visit([](const auto& form) { return lobby_of(form); }, message.answer);
    const auto account = std::visit([](const auto& form) { return AccountId(form.account.value); }, message.answer);
    Outcome outcome;
    if (const auto* no = std::get_if<ValidateTokenResponse::Refused>(&message.answer))
        outcome = refused(no->error.view());
    if (must_register_anew(outcome.code)) {
        link_.drop();  // the token was not judged; it is asked again on the next link
        return;
    }
    const auto validation = validations_.answered(lobby, account);
    if (!validation) return;
    // Each account can use a token once, so the repetition of a question whose answer was lost hears this.
    if (validation->answer_lost && outcome.code == ErrorCode::match_token_already_used) {
        outcome.code = ErrorCode::answer_lost;
    }
    call(validation->done, outcome);
}

void GameServer::State::take(const AbortMatch& message) {
    const LobbyId lobby = lobby_of(message);
    matches_.end_told(lobby);
    // Muster does not offer that lobby again before it has an answer to the old offer.
    const HeldMatch* match = matches_.find(lobby);
    if (match && match->stage == Stage::offered) {
        link_.send(AllocateMatchAck{.accepted = false, .lobby = wire(lobby)});
    }
    drop_match(lobby, message.reason.view());
}

void GameServer::State::take(const ServerStatusNotice& message) {
    call(user_.on_status, static_cast<ServerStatus>(message.status));
}

void GameServer::State::take(const ServerError& message) {
    tell(refused(message.error.view()));
}

void GameServer::State::drop_match(LobbyId lobby, std::string_view reason) {
    if (!matches_.find(lobby)) return;
    matches_.erase(lobby);
    call(user_.on_abort, lobby, reason);
}

}  // namespace muster::sdk
