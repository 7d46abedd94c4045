#include "muster/player.h"

#include <utility>

#include "sdk/src/option_times.h"
#include "sdk/src/player_state.h"

namespace muster::sdk {

namespace {

PlayerOptions checked(PlayerOptions options) {
    check_time(options.ping_timeout, "ping_timeout");
    check_time(options.resume_grace, "resume_grace", Duration{});
    check_time(options.clock_sync_interval, "clock_sync_interval");
    return options;
}

}  // namespace

Player::Player(PlayerOptions options, PlayerCallbacks callbacks)
    : LinkedClient(std::make_unique<State>(checked(options), std::move(callbacks))) {}
Player::~Player() = default;

Player::State& Player::state() const {
    return static_cast<State&>(inside());
}

void Player::login(std::string_view name, std::string_view credential) {
    state().login(name, credential);
}
void Player::logout() {
    state().logout();
}
bool Player::request_ping() {
    return state().request_ping();
}
void Player::activity() {
    state().activity();
}
bool Player::send(std::uint16_t code, std::span<const std::byte> payload) {
    return state().send(code, payload);
}
std::optional<AccountId> Player::id() const {
    return state().id();
}
std::optional<WorldTime> Player::world_time() const {
    return state().world().time();
}

}  // namespace muster::sdk
