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
#include "muster/client.h"
#include "muster/clock_estimate.h"
#include "muster/ids.h"
#include "muster/matchmaker.h"
#include "muster/outcome.h"
#include "muster/time.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/port.h"
#include "sdk/src/asks.h"
#include "sdk/src/callbacks.h"
#include "sdk/src/heartbeats.h"
#include "sdk/src/link.h"

namespace muster::sdk {

class Matchmaker::State {
public:
    State(MatchmakerOptions options, MatchmakerCallbacks callbacks)
        : options_(std::move(options)), user_(std::move(callbacks)), heartbeats_(options_.heartbeat_interval) {}

    // The user's commands.
    void request(const MatchRequest& match, std::function<void(const Allocation&)> done);
    void cancel(LobbyId lobby);
    void players(LobbyId lobby, std::span<const AccountId> accounts, std::function<void(const Outcome&)> done);
    void close();

    // The runner's calls.
    void connected(Time now);
    void disconnected(Time now);
    void receive(std::span<const std::byte> bytes, Time now);
    void tick(Time now);
    std::optional<Time> next_tick() const;

    Link& link() { return link_; }
    LinkState link_state() const { return link_state_; }
    const std::vector<KnownServer>& servers() const { return servers_; }
    const ClockEstimate& clock() const { return clock_; }
    std::size_t requests_waiting() const { return asks_.count(Ask::Kind::request); }

private:
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

    void set_now(Time now);
    void set_link_state(LinkState state);
    void tell(ErrorCode code, std::string_view text) { tell_error(user_.on_error, code, text); }
    void tell(const Outcome& outcome) { tell(outcome.code, outcome.text); }
    void stamped(Time sent, UnixMs stamp);

    const MatchmakerOptions options_;
    const MatchmakerCallbacks user_;

    Time now_{};
    bool time_known_ = false;  // from the first call on that says what time it is
    Link link_{default_byte_order(Port::matchmakers)};
    LinkState link_state_ = LinkState::connecting;
    Time greeted_at_{};
    Heartbeats heartbeats_;
    ClockEstimate clock_;
    std::vector<KnownServer> servers_;

    Asks asks_;
    OwedCalls owed_;
};

}  // namespace muster::sdk
