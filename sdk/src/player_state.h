// The inside of Player: what it knows, what it says (player_state.cpp), what it hears (player_hears.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "muster/ids.h"
#include "muster/outcome.h"
#include "muster/player.h"
#include "muster/time.h"
#include "protocol/player_messages.h"
#include "protocol/port.h"
#include "sdk/src/client_state.h"
#include "sdk/src/world_clock.h"

namespace muster::sdk {

class Player::State final : public ClientState {
public:
    static constexpr std::chrono::seconds activity_interval{1};
    // Muster repeats the matches that wait for a player at each login; more than a few at once never do.
    static constexpr std::size_t matches_told_max = 16;

    State(PlayerOptions options, PlayerCallbacks callbacks);

    // The user's commands.
    void login(std::string_view name, std::string_view credential);
    void logout();
    bool request_ping();
    void activity();
    bool send(std::uint16_t code, std::span<const std::byte> payload);

    std::optional<AccountId> id() const { return id_; }
    const WorldClock& world() const { return world_; }

private:
    void greet() override;
    std::string_view no_greeting() const override { return "No answer to the login"; }
    void link_lost() override;
    std::optional<WireError> hear(std::span<const std::byte> bytes) override;
    void work(Time now) override;
    std::optional<Time> next_work() const override;

    // What Muster says.
    void take(const Ping& message);
    void take(const PlayerLoginResponse& message);
    void take(const TimeChange& message) { world_taken(world_.take(message)); }
    void take(const TimeUpdate& message) { world_taken(world_.take(message)); }
    void take(const ServerClose& message);
    void take(const PingReply& message);
    void take(const EntityHeartbeat& message);
    void take(const ClockSyncReply& message);
    void take(const PlayerMatchStart& message);
    void take(const PlayerMatchAborted& message);

    void accepted(const PlayerLoginResponse::Accepted& yes);
    bool probably_resumed(AccountId player) const;
    void world_taken(WorldClock::Taken taken);
    void stay_away();

    void leave();
    void send_due(Time now);
    void send_clock_sync();
    void forget_session();
    void forget_match(LobbyId lobby);

    const PlayerOptions options_;
    const PlayerCallbacks user_;

    // Who this is, kept for the next link.
    std::string name_;
    std::string credential_;
    std::optional<AccountId> id_;
    std::string resume_token_;
    std::optional<Time> lost_at_;          // when the session's link went away, if Muster keeps it since …
    std::optional<Time> resuming_since_;   // … and the same once the token was shown: it can be used once
    std::deque<MatchStart> matches_told_;  // and not aborted since; the newest last

    // Of one link, from the login on.
    struct Online {
        Time ping_by{};  // the link is dead when no ping came by then
        bool pinged = false;
        bool ping_wanted = false;           // to be asked for by the next tick(), which knows the time
        std::optional<Time> ping_asked_at;  // not answered yet
        Time next_sync{};
        std::optional<Time> sync_sent_at;
        bool activity_wanted = false;
        Time activity_after{};  // not before
    };
    std::optional<Online> online_;

    WorldClock world_;
};

}  // namespace muster::sdk
