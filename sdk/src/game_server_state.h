// The inside of GameServer: what it knows, what it says (game_server_state.cpp), what it hears (game_server_hears.cpp).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "muster/client.h"
#include "muster/clock_estimate.h"
#include "muster/game_server.h"
#include "muster/ids.h"
#include "muster/outcome.h"
#include "muster/time.h"
#include "protocol/port.h"
#include "protocol/server_messages.h"
#include "sdk/src/callbacks.h"
#include "sdk/src/heartbeats.h"
#include "sdk/src/link.h"
#include "sdk/src/match_table.h"
#include "sdk/src/validations.h"

namespace muster::sdk {

class GameServer::State {
public:
    State(GameServerOptions options, GameServerCallbacks callbacks)
        : options_(std::move(options)), user_(std::move(callbacks)), heartbeats_(options_.heartbeat_interval) {}

    // The user's commands.
    bool answer(LobbyId lobby, OfferAnswer answer);
    bool ready(LobbyId lobby);
    bool start(LobbyId lobby);
    bool end(LobbyId lobby);
    void validate(Validation validation);
    void drain(bool draining);
    void goodbye();
    void report_load(Load load) { load_ = load; }

    // The runner's calls.
    void connected(Time now);
    void disconnected(Time now);
    void receive(std::span<const std::byte> bytes, Time now);
    void tick(Time now);
    std::optional<Time> next_tick() const;

    Link& link() { return link_; }
    LinkState link_state() const { return link_state_; }
    std::optional<ServerId> id() const { return id_; }
    const MatchTable& matches() const { return matches_; }
    const ClockEstimate& clock() const { return clock_; }

private:
    // What Muster says.
    void take(const ServerHandshakeResponse& message);
    void take(const ServerHeartbeatAck& message);
    void take(const AllocateMatch& message);
    void take(const ReadyForMatchResponse& message);
    void take(const ValidateTokenResponse& message);
    void take(const MatchResponse& message);
    void take(const AbortMatch& message);
    void take(const ServerStatusNotice& message);
    void take(const ServerError& message);

    void resume();
    bool may_host() const;
    void acknowledged(Time sent, UnixMs stamp);
    void report_refused(LobbyId lobby, const Outcome& outcome);
    void drop_match(LobbyId lobby, std::string_view reason);
    HeldMatch* held(LobbyId lobby);

    void send_heartbeat();
    void send_reports();
    void send_ready(LobbyId lobby, const HeldMatch& match);
    void send_started(LobbyId lobby);
    void send_ended(LobbyId lobby);
    void send_validation(Validation& validation);
    void send_draining();
    muster::ServerId wire_id() const { return muster::ServerId(id_ ? id_->value : 0); }
    static muster::LobbyId wire(LobbyId lobby) { return muster::LobbyId(lobby.value); }

    void set_now(Time now);
    void set_link_state(LinkState state);
    void tell(ErrorCode code, std::string_view text) { tell_error(user_.on_error, code, text); }
    void tell(const Outcome& outcome) { tell(outcome.code, outcome.text); }
    // Muster keeps a server for heartbeat_timeout after a heartbeat; we count from its sending, which was no later.
    Time lease_end() const { return acknowledged_at_ + options_.heartbeat_timeout; }

    const GameServerOptions options_;
    const GameServerCallbacks user_;

    Time now_{};
    bool time_known_ = false;  // from the first call on that says what time it is
    Link link_{default_byte_order(Port::servers)};
    LinkState link_state_ = LinkState::connecting;
    Time greeted_at_{};
    std::optional<ServerId> id_;
    Heartbeats heartbeats_;
    Time acknowledged_at_{};  // when the newest handshake or heartbeat that was acknowledged had been sent
    ClockEstimate clock_;

    MatchTable matches_;
    Validations validations_;
    std::optional<Time> reports_retry_at_;
    std::optional<bool> draining_;  // none: never asked for
    Load load_{};
    OwedCalls owed_;
};

}  // namespace muster::sdk
