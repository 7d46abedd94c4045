// The inside of GameServer: what it knows, what it says (game_server_state.cpp), what it hears (game_server_hears.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "muster/game_server.h"
#include "muster/ids.h"
#include "muster/outcome.h"
#include "muster/time.h"
#include "protocol/port.h"
#include "protocol/server_messages.h"
#include "sdk/src/client_state.h"
#include "sdk/src/heartbeats.h"
#include "sdk/src/match_table.h"
#include "sdk/src/validations.h"

namespace muster::sdk {

class GameServer::State final : public ClientState {
public:
    State(GameServerOptions options, GameServerCallbacks callbacks)
        : ClientState(default_byte_order(Port::servers), LinkState::connecting, callbacks.on_error, callbacks.on_link),
          options_(std::move(options)),
          user_(std::move(callbacks)),
          heartbeats_(options_.heartbeat_interval) {}

    // The user's commands.
    bool answer(LobbyId lobby, OfferAnswer answer);
    bool ready(LobbyId lobby);
    bool start(LobbyId lobby);
    bool end(LobbyId lobby);
    void take_over(const Offer& match, MatchStage stage);
    void validate(Validation validation);
    void drain(bool draining);
    void goodbye() { leave(Farewell::goodbye); }
    void crashed() { leave(Farewell::crashed); }
    void report_load(Load load) { load_ = load; }

    std::optional<ServerId> id() const { return id_; }
    const MatchTable& matches() const { return matches_; }
    bool leaving() const override { return farewell_.has_value(); }

private:
    enum class Farewell : std::uint8_t { goodbye, crashed };

    void leave(Farewell how);
    // Leaves, if that was asked for and Muster has answered all ends of matches, or has had its time.
    void leave_if_due();
    void say_farewell(Farewell how);
    void greet() override;
    std::string_view no_greeting() const override { return "No answer to the handshake"; }
    void link_lost() override;
    std::optional<WireError> hear(std::span<const std::byte> bytes) override;
    void work(Time now) override;
    std::optional<Time> next_work() const override;
    void time_known(Time now) override;

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
    // Muster says these to hosts only.
    void take(const HostMessage auto&) {}

    // Where players reach it: 127.0.0.1:27015.
    std::string endpoint() const;
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

    // Muster keeps a server for heartbeat_timeout after a heartbeat; we count from its sending, which was no later.
    Time lease_end() const { return acknowledged_at_ + options_.heartbeat_timeout; }

    const GameServerOptions options_;
    const GameServerCallbacks user_;

    Time greeted_at_{};
    std::optional<ServerId> id_;
    Heartbeats heartbeats_;
    Time acknowledged_at_{};  // when the newest handshake or heartbeat that was acknowledged had been sent

    MatchTable matches_;
    Validations validations_;
    std::optional<Time> reports_retry_at_;
    std::optional<bool> draining_;      // none: never asked for
    std::optional<Farewell> farewell_;  // to be said once the ends of matches are answered
    Time leave_by_{};
    bool newcomer_ = true;  // Muster may take it for an earlier process at this address
    Load load_{};
};

}  // namespace muster::sdk
