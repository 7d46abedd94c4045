#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <variant>

#include "protocol/answer_forms.h"
#include "protocol/error_texts.h"
#include "sdk/src/endpoint_port.h"
#include "sdk/src/player_state.h"
#include "sdk/src/refusals.h"

namespace muster::sdk {

namespace {

UnixTime date_of(std::int64_t microseconds) {
    return UnixTime(std::chrono::microseconds(microseconds));
}

// Trying again with the same words would end the same way.
bool is_final(ErrorCode code) {
    return code == ErrorCode::invalid_credential || code == ErrorCode::credential_expired ||
           code == ErrorCode::invalid_name || code == ErrorCode::blocked;
}

// Reasons that pass. All others are a person's will (the player's, who is at another machine or gone, or an
// operator's), or words that this version does not know.
bool passes(std::string_view reason) {
    constexpr std::array passing{Reason::ping_timeout,      Reason::heartbeat_failed,  Reason::server_shutting_down,
                                 Reason::handshake_timeout, Reason::too_many_messages, Reason::internal_error};
    if (reason.starts_with("Malformed message: ")) return true;
    return std::ranges::any_of(passing, [&](Reason each) { return text(each) == reason; });
}

}  // namespace

void Player::State::take(const PlayerLoginResponse& message) {
    if (link_.stage() != Link::Stage::greeting) return;
    const auto* no = std::get_if<PlayerLoginResponse::Refused>(&message.answer);
    if (!no) return accepted(std::get<PlayerLoginResponse::Accepted>(message.answer));

    const Outcome outcome = refused(no->error.view());
    if (!is_final(outcome.code)) {
        link_.drop();
        tell(outcome);
        return;
    }
    stay_away();
    call(user_.on_refused, outcome);
    if (link_.stage() == Link::Stage::resting) set_link_state(LinkState::closed);
}

void Player::State::accepted(const PlayerLoginResponse::Accepted& yes) {
    const AccountId player(yes.player.value);
    const bool resumed = probably_resumed(player);
    link_.greeted();
    id_ = player;
    resume_token_ = yes.resume_token.string();
    online_ = Online{};
    online_->ping_by = now_ + options_.ping_timeout;
    send_clock_sync();
    call(user_.on_login, LoggedIn{.player = player, .resumed = resumed});
    // The callback may have logged out again.
    if (link_.online()) set_link_state(LinkState::online);
}

bool Player::State::probably_resumed(AccountId player) const {
    const bool shown = resuming_since_ && !resume_token_.empty();
    return shown && id_ == player && now_ - *resuming_since_ <= options_.resume_grace;
}

void Player::State::take(const Ping&) {
    if (!online_) return;
    link_.send(PingEcho{});
    link_.proven();
    online_->pinged = true;
    online_->ping_by = now_ + options_.ping_timeout;
}

void Player::State::take(const PingReply&) {
    if (!online_ || !online_->ping_asked_at) return;
    const Duration round_trip = now_ - *std::exchange(online_->ping_asked_at, std::nullopt);
    call(user_.on_ping, round_trip);
}

void Player::State::take(const EntityHeartbeat& message) {
    if (!online_) return;
    bool fine = !user_.on_heartbeat;
    guarded([&] {
        if (user_.on_heartbeat) fine = user_.on_heartbeat();
    });
    link_.send(
        EntityHeartbeatAnswer{.request_id = message.request_id, .status = fine ? std::uint8_t{1} : std::uint8_t{0}});
}

void Player::State::take(const ClockSyncReply& message) {
    if (!online_ || !online_->sync_sent_at) return;
    const Time sent = *online_->sync_sent_at;
    const auto asked = std::chrono::floor<std::chrono::microseconds>(sent.time_since_epoch()).count();
    if (message.client_send_us != asked) return;
    online_->sync_sent_at.reset();
    clock_.add(ClockExchange{.sent = sent,
                             .server_received = date_of(message.server_receive_us),
                             .server_sent = date_of(message.server_send_us),
                             .received = now_});
}

void Player::State::world_taken(WorldClock::Taken taken) {
    if (taken == WorldClock::Taken::out_of_range) tell(ErrorCode::malformed_message, "A time that does not exist");
    if (taken == WorldClock::Taken::changed) call(user_.on_time, *world_.time());
}

void Player::State::take(const PlayerMatchStart& message) {
    const LobbyId lobby(message.lobby.value);
    const auto is_this = [&](const MatchStart& told) {
        return told.lobby == lobby && told.token == message.token.view();
    };
    if (std::ranges::any_of(matches_told_, is_this)) return;
    forget_match(lobby);
    if (matches_told_.size() == matches_told_max) matches_told_.pop_front();
    const MatchStart match{.lobby = lobby,
                           .ip = message.endpoint.ip.string(),
                           .port = port_of(message.endpoint),
                           .token = message.token.string()};
    matches_told_.push_back(match);
    call(user_.on_match_start, match);
}

void Player::State::take(const PlayerMatchAborted& message) {
    const LobbyId lobby(message.lobby.value);
    forget_match(lobby);
    call(user_.on_match_aborted, lobby, message.reason.view());
}

void Player::State::forget_match(LobbyId lobby) {
    std::erase_if(matches_told_, [&](const MatchStart& told) { return told.lobby == lobby; });
}

// The session has ended with the reason: there is nothing to resume.
void Player::State::take(const ServerClose& message) {
    const bool comes_back = passes(message.reason.view());
    resume_token_.clear();
    if (comes_back) {
        link_.drop();
    } else {
        stay_away();
    }
    call(user_.on_closed, message.reason.view(), comes_back);
    if (link_.stage() == Link::Stage::resting) set_link_state(LinkState::closed);
}

// Until the next login(), which may come from within the callback that tells of it.
void Player::State::stay_away() {
    link_.rest();
    online_.reset();
    forget_session();
}

}  // namespace muster::sdk
