#include "sdk/src/player_state.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/utf8.h"
#include "protocol/error_texts.h"
#include "protocol/messages.h"
#include "protocol/text.h"
#include "sdk/src/earliest.h"
#include "sdk/src/refusals.h"

namespace muster::sdk {

namespace {

ByteOrder order_of(const PlayerOptions& options) {
    return options.little_endian ? ByteOrder::little : ByteOrder::big;
}

std::int64_t to_microseconds(Time time) {
    return std::chrono::floor<std::chrono::microseconds>(time.time_since_epoch()).count();
}

}  // namespace

Player::State::State(PlayerOptions options, PlayerCallbacks callbacks)
    : ClientState(order_of(options), LinkState::closed, callbacks.on_error, callbacks.on_link),
      options_(options),
      user_(std::move(callbacks)) {
    link_.rest();
}

void Player::State::login(std::string_view name, std::string_view credential) {
    // Muster would take the message for a malformed one, and say less about it.
    const auto refuse = [&](Refusal refusal) {
        owe([this, outcome = Outcome{code_of(refusal), std::string(text(refusal))}] {
            call(user_.on_refused, outcome);
        });
    };
    if (!NameText::fits(name) || !is_utf8(name)) return refuse(Refusal::invalid_name);
    if (!CredentialText::fits(credential) || !is_utf8(credential)) return refuse(Refusal::invalid_credential);

    credential_ = credential;
    if (name != name_) {
        leave();
        name_ = name;
    } else if (link_.online()) {
        return;
    }
    // A login that is under way has the old credential; the pause before the next attempt was for the old one, too.
    link_.rest();
    link_.want();
    link_state_ = LinkState::connecting;
}

void Player::State::logout() {
    if (link_state_ == LinkState::closed) return;
    leave();
    link_.rest();
    left(LinkState::closed);
}

// Tells Muster, and knows of no session any more. A login without an answer yet may have succeeded, so it is ended,
// too.
void Player::State::leave() {
    link_.send(PlayerLogout{});
    forget_session();
    online_.reset();
    id_.reset();
}

bool Player::State::request_ping() {
    if (!link_.online() || !online_ || !online_->pinged || online_->ping_wanted || online_->ping_asked_at) return false;
    online_->ping_wanted = true;
    return true;
}

void Player::State::activity() {
    if (online_) online_->activity_wanted = true;
}

bool Player::State::send(std::uint16_t code, std::span<const std::byte> payload) {
    if (!link_.online() || !is_game_code(code) || payload.size() > message_size_max) return false;
    link_.send_raw(code, payload);
    return true;
}

void Player::State::greet() {
    resuming_since_ = std::exchange(lost_at_, std::nullopt);
    link_.send(PlayerLogin{.player_name = name_, .credential = credential_, .resume_token = resume_token_});
}

void Player::State::link_lost() {
    if (online_) lost_at_ = now_;
    online_.reset();
}

std::optional<WireError> Player::State::hear(std::span<const std::byte> bytes) {
    return link_.receive<Port::players>(bytes, [this](const auto& message) { take(message); });
}

void Player::State::work(Time now) {
    if (!online_ || !link_.online()) return;
    if (now >= online_->ping_by) {
        online_.reset();  // by now Muster has missed as many echoes, and most likely ended the session
        link_.drop();
        tell(ErrorCode::no_answer, "No ping from Muster");
        return;
    }
    send_due(now);
}

void Player::State::send_due(Time now) {
    if (std::exchange(online_->ping_wanted, false)) {
        online_->ping_asked_at = now;
        link_.send(PingRequest{});
    }
    if (online_->activity_wanted && now >= online_->activity_after) {
        online_->activity_wanted = false;
        online_->activity_after = now + activity_interval;
        link_.send(PlayerActivity{});
    }
    if (now >= online_->next_sync) send_clock_sync();
}

void Player::State::send_clock_sync() {
    online_->sync_sent_at = now_;
    online_->next_sync = now_ + options_.clock_sync_interval;
    link_.send(ClockSync{.client_send_us = to_microseconds(now_)});
}

std::optional<Time> Player::State::next_work() const {
    if (!online_ || !link_.online()) return link_.next_tick();
    if (online_->ping_wanted) return now_;
    std::optional<Time> activity;
    if (online_->activity_wanted) activity = std::max(now_, online_->activity_after);
    return earliest({online_->ping_by, online_->next_sync, activity});
}

void Player::State::forget_session() {
    resume_token_.clear();
    lost_at_.reset();
    matches_told_.clear();
}

}  // namespace muster::sdk
