// A player's client: logs in, stays connected, keeps the world's time, is told where its match is.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "muster/ids.h"
#include "muster/linked_client.h"
#include "muster/outcome.h"
#include "muster/time.h"
#include "muster/world_time.h"

namespace muster::sdk {

// As in Muster's config; leave them unless that was changed.
struct PlayerOptions {
    bool little_endian = false;                        // players.byte_order = "little"
    Duration ping_timeout = std::chrono::seconds(60);  // without a ping for so long, the link is dead
    Duration resume_grace = std::chrono::seconds(30);  // Muster keeps the session of a lost link for so long
    // How often Muster is asked for its time.
    Duration clock_sync_interval = std::chrono::seconds(30);
};

struct LoggedIn {
    AccountId player{};
    // The session of the link before goes on. Muster's answer does not say so: it follows from how the link was lost
    // and for how long. In doubt it is false. A Muster that crashed and came back meanwhile cannot be told from one
    // that did not: it is true then, though the session is a new one.
    bool resumed = false;
};

// A match waits for this player.
struct MatchStart {
    LobbyId lobby{};
    std::string ip{};  // connect there …
    std::uint16_t port = 0;
    std::string token{};  // … and show this, with the account id
};

// All are optional.
struct PlayerCallbacks {
    std::function<void(const LoggedIn&)> on_login{};
    // Muster refuses this name or this credential: invalid_credential, credential_expired, invalid_name. The client
    // does not retry until the next login().
    std::function<void(const Outcome&)> on_refused{};
    // Once for each match: what Muster repeats after a resume is not told again.
    std::function<void(const MatchStart&)> on_match_start{};
    std::function<void(LobbyId, std::string_view reason)> on_match_aborted{};
    // Muster closes the link and says why. `comes_back`: this client connects again by itself.
    std::function<void(std::string_view reason, bool comes_back)> on_closed{};
    // online: logged in; connecting: the link was lost, and is made anew; closed: logged out, refused or sent away.
    std::function<void(LinkState)> on_link{};
    // The world's time is another, or known for the first time. Midnight comes in two steps, as Muster sends it: first
    // the day with hour 0, then the minute.
    std::function<void(const WorldTime&)> on_time{};
    // How long Muster took to answer request_ping().
    std::function<void(Duration round_trip)> on_ping{};
    // Muster asks whether the client still runs its entity. Without this callback the answer is true. If it is false,
    // or the callback throws, too often in a row, Muster deletes the entity and closes the connection.
    std::function<bool()> on_heartbeat{};
    // Errors that belong to no call: a malformed message, a login without an answer, missing pings, an exception from a
    // callback.
    std::function<void(const Outcome&)> on_error{};
};

// Logs in once connected, answers pings and heartbeats, and reconnects after a lost connection with the token that
// resumes the session. It also reconnects, to a new session, when Muster closes the connection for a temporary
// reason: "Server shutting down", "Ping timeout", "Heartbeat failed", "Handshake timeout", "Too many messages",
// "Internal error", a malformed message. It stays disconnected after "Logged in elsewhere" (two clients of one player
// would otherwise replace each other for ever), "Kicked", "Idle too long" and unknown reasons: only login() connects
// again then. See Client for how it is driven and when callbacks are called.
class Player final : public LinkedClient {
public:
    // The longest payload of a message of the game's own.
    static constexpr std::size_t message_size_max = 8190;

    // Throws std::invalid_argument for an invalid option: a timeout or interval of 0.
    Player(PlayerOptions options, PlayerCallbacks callbacks);
    ~Player() override;

    // Logs in, now or as soon as there is a connection. on_login or on_refused follows. Until the first call, no
    // connection is wanted. If the same name is logged in, the session continues, and the credential is kept for the
    // next connection: use this to renew one that expires. For another name, the present one is logged out first.
    void login(std::string_view name, std::string_view credential);
    // Leaves: Muster ends the session, and the link is closed. login() begins a new one.
    void logout();

    // Measures the round trip, which on_ping tells. False, and nothing happens, while there is one under way, and
    // before the first ping of Muster's on this link.
    bool request_ping();
    // The player did something, so it is not idle. Call it for every key press and click; the client sends at most one
    // message a second. Dropped without a connection: a login counts as activity, too.
    void activity();
    // A message of the game's own, for the program that Muster's library is part of. Counts as activity. False, and
    // nothing is sent, when the code is not within 1000 to 4095, the payload is too long, or nobody is logged in.
    bool send(std::uint16_t code, std::span<const std::byte> payload);

    // Of the last login; none before the first, and after logout().
    std::optional<AccountId> id() const;
    // None before Muster said it for the first time. While the link is down it stands still.
    std::optional<WorldTime> world_time() const;

private:
    class State;
    State& state() const;
};

}  // namespace muster::sdk
