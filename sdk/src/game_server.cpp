#include "muster/game_server.h"

#include <stdexcept>
#include <utility>

#include "base/utf8.h"
#include "protocol/text.h"
#include "sdk/src/game_server_state.h"
#include "sdk/src/option_times.h"

namespace muster::sdk {

namespace {

GameServerOptions checked(GameServerOptions options) {
    if (!HandshakeTokenText::fits(options.token) || !is_utf8(options.token)) throw std::invalid_argument("token");
    if (!IpText::fits(options.ip) || !is_utf8(options.ip)) throw std::invalid_argument("ip");
    if (options.max_matches < 1) throw std::invalid_argument("max_matches");
    check_time(options.heartbeat_interval, "heartbeat_interval");
    check_time(options.heartbeat_timeout, "heartbeat_timeout");
    check_time(options.offer_timeout, "offer_timeout");
    check_time(options.validate_timeout, "validate_timeout");
    return options;
}

}  // namespace

GameServer::GameServer(GameServerOptions options, GameServerCallbacks callbacks)
    : state_(std::make_unique<State>(checked(std::move(options)), std::move(callbacks))) {}
GameServer::~GameServer() {
    leave_runner();
}

bool GameServer::answer(LobbyId lobby, OfferAnswer answer) {
    return state_->answer(lobby, answer);
}
bool GameServer::ready(LobbyId lobby) {
    return state_->ready(lobby);
}
bool GameServer::start(LobbyId lobby) {
    return state_->start(lobby);
}
bool GameServer::end(LobbyId lobby) {
    return state_->end(lobby);
}
void GameServer::validate(LobbyId lobby, AccountId account, std::string_view token,
                          std::function<void(const Outcome&)> done) {
    state_->validate({.lobby = lobby, .account = account, .token = std::string(token), .done = std::move(done)});
}
void GameServer::drain(bool draining) {
    state_->drain(draining);
}
void GameServer::goodbye() {
    state_->goodbye();
}
void GameServer::report_load(Load load) {
    state_->report_load(load);
}
LinkState GameServer::link_state() const {
    return state_->link_state();
}
std::optional<ServerId> GameServer::id() const {
    return state_->id();
}
std::int32_t GameServer::match_count() const {
    return state_->matches().match_count();
}
bool GameServer::holds(LobbyId lobby) const {
    const HeldMatch* match = state_->matches().find(lobby);
    return match && match->stage != HeldMatch::Stage::offered;
}
const ClockEstimate& GameServer::clock() const {
    return state_->clock();
}
void GameServer::seed_jitter(std::uint64_t seed) {
    state_->link().seed_jitter(seed);
}
bool GameServer::wants_connection() const {
    return state_->link().wants_connection();
}
void GameServer::connected(Time now) {
    state_->connected(now);
}
void GameServer::disconnected(Time now) {
    state_->disconnected(now);
}
void GameServer::receive(std::span<const std::byte> bytes, Time now) {
    state_->receive(bytes, now);
}
std::vector<std::byte> GameServer::take_output() {
    return state_->link().take_output();
}
void GameServer::tick(Time now) {
    state_->tick(now);
}
std::optional<Time> GameServer::next_tick() const {
    return state_->next_tick();
}

}  // namespace muster::sdk
