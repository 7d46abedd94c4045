// The inside of Matchmaker: what it waits for, what it says, what it hears.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "muster/ids.h"
#include "muster/matchmaker.h"
#include "muster/outcome.h"
#include "muster/time.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/port.h"
#include "sdk/src/asks.h"
#include "sdk/src/client_state.h"
#include "sdk/src/heartbeats.h"

namespace muster::sdk {

class Matchmaker::State final : public ClientState {
public:
    State(MatchmakerOptions options, MatchmakerCallbacks callbacks)
        : ClientState(default_byte_order(Port::matchmakers), LinkState::connecting, callbacks.on_error,
                      callbacks.on_link),
          options_(std::move(options)),
          user_(std::move(callbacks)),
          heartbeats_(options_.heartbeat_interval) {}

    // The user's commands.
    void request(const MatchRequest& match, std::function<void(const Allocation&)> done);
    void cancel(LobbyId lobby);
    void players(LobbyId lobby, std::span<const AccountId> accounts, std::function<void(const Outcome&)> done);
    void close();

    const std::vector<KnownServer>& servers() const { return servers_; }
    std::size_t requests_waiting() const { return asks_.count(Ask::Kind::request); }

private:
    void greet() override;
    std::string_view no_greeting() const override { return "No answer to the handshake"; }
    void link_lost() override;
    std::optional<WireError> hear(std::span<const std::byte> bytes) override;
    void work(Time now) override;
    std::optional<Time> next_work() const override;
    void time_known(Time now) override;

    // What Muster says.
    void take(const MatchmakerHandshakeResponse& message);
    void take(const AllocationResponse& message);
    void take(const MatchmakerHeartbeatAck& message);
    void take(const MatchEventNotice& message);
    void take(const MatchPlayersResponse& message);
    void take(const MatchmakerError& message);

    // Tells Muster to give up whatever it may have for that lobby.
    void withdraw(LobbyId lobby);
    // Tells the one who asked that there will be no answer.
    void end(const Ask& ask, ErrorCode code, std::string_view text);
    void end_later(Ask ask, ErrorCode code, std::string text);
    void expire(const Ask& ask);

    void send(Ask& ask);
    void send_heartbeat();

    void stamped(Time sent, UnixMs stamp);

    const MatchmakerOptions options_;
    const MatchmakerCallbacks user_;

    Time greeted_at_{};
    Heartbeats heartbeats_;
    std::vector<KnownServer> servers_;

    Asks asks_;
};

}  // namespace muster::sdk
