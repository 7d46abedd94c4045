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
    : state_(std::make_unique<State>(checked(options), std::move(callbacks))) {}
Player::~Player() {
    leave_runner();
}

void Player::login(std::string_view name, std::string_view credential) {
    state_->login(name, credential);
}
void Player::logout() {
    state_->logout();
}
bool Player::request_ping() {
    return state_->request_ping();
}
void Player::activity() {
    state_->activity();
}
bool Player::send(std::uint16_t code, std::span<const std::byte> payload) {
    return state_->send(code, payload);
}
LinkState Player::link_state() const {
    return state_->link_state();
}
std::optional<AccountId> Player::id() const {
    return state_->id();
}
std::optional<WorldTime> Player::world_time() const {
    return state_->world().time();
}
const ClockEstimate& Player::clock() const {
    return state_->clock();
}
void Player::seed_jitter(std::uint64_t seed) {
    state_->link().seed_jitter(seed);
}
bool Player::wants_connection() const {
    return state_->link().wants_connection();
}
void Player::connected(Time now) {
    state_->connected(now);
}
void Player::disconnected(Time now) {
    state_->disconnected(now);
}
void Player::receive(std::span<const std::byte> bytes, Time now) {
    state_->receive(bytes, now);
}
std::vector<std::byte> Player::take_output() {
    return state_->link().take_output();
}
void Player::tick(Time now) {
    state_->tick(now);
}
std::optional<Time> Player::next_tick() const {
    return state_->next_tick();
}

}  // namespace muster::sdk
