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
    if (!HandshakeTokenText::fits(options.token) || !is_utf8(options.token))
        throw std::invalid_argument("token must be UTF-8 of at most 256 bytes");
    if (!IpText::fits(options.ip) || !is_utf8(options.ip))
        throw std::invalid_argument("ip must be an IP address, at most 45 bytes of text");
    if (options.max_matches < 1) throw std::invalid_argument("max_matches must be 1 or more");
    check_time(options.heartbeat_interval, "heartbeat_interval");
    check_time(options.heartbeat_timeout, "heartbeat_timeout");
    check_time(options.offer_timeout, "offer_timeout");
    check_time(options.validate_timeout, "validate_timeout");
    check_time(options.goodbye_timeout, "goodbye_timeout");
    return options;
}

}  // namespace

GameServer::GameServer(GameServerOptions options, GameServerCallbacks callbacks)
    : LinkedClient(std::make_unique<State>(checked(std::move(options)), std::move(callbacks))) {}
GameServer::~GameServer() = default;

GameServer::State& GameServer::state() const {
    return static_cast<State&>(inside());
}

bool GameServer::answer(LobbyId lobby, OfferAnswer answer) {
    return state().answer(lobby, answer);
}
bool GameServer::ready(LobbyId lobby) {
    return state().ready(lobby);
}
bool GameServer::start(LobbyId lobby) {
    return state().start(lobby);
}
bool GameServer::end(LobbyId lobby) {
    return state().end(lobby);
}
void GameServer::take_over(const Offer& match, MatchStage stage) {
    state().take_over(match, stage);
}
void GameServer::validate(LobbyId lobby, AccountId account, std::string_view token,
                          std::function<void(const Outcome&)> done) {
    state().validate({.lobby = lobby, .account = account, .token = std::string(token), .done = std::move(done)});
}
void GameServer::drain(bool draining) {
    state().drain(draining);
}
void GameServer::goodbye() {
    state().goodbye();
}

void GameServer::crashed() {
    state().crashed();
}
void GameServer::report_load(Load load) {
    state().report_load(load);
}
std::optional<ServerId> GameServer::id() const {
    return state().id();
}
std::int32_t GameServer::match_count() const {
    return state().matches().match_count();
}
bool GameServer::holds(LobbyId lobby) const {
    const HeldMatch* match = state().matches().find(lobby);
    return match && match->stage != HeldMatch::Stage::offered;
}

}  // namespace muster::sdk
