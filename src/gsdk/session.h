// What the GSDK server knows of one life of one game process, and how its heartbeats and Muster's offers meet (G-31).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/sdk_side.h"
#include "base/ids.h"
#include "base/time.h"

namespace muster::gsdk {

// What a process says of itself. Words that nobody knows count as initializing.
enum class GameState : std::uint8_t { initializing, standing_by, active, terminating, terminated };

GameState game_state_named(std::string_view name);

struct Heartbeat {
    GameState state = GameState::initializing;
    bool healthy = true;
    std::size_t players = 0;
};

struct SessionConfig {
    std::string session_id{};      // a GUID
    std::string session_cookie{};  // the match token
    LobbyId lobby{};
    std::int8_t game_type = 0;
    std::int8_t game_mode = 0;
    std::vector<AccountId> initial_players{};
};

enum class Operation : std::uint8_t { carry_on, active, terminate };

struct HeartbeatAnswer {
    Operation operation = Operation::carry_on;
    const SessionConfig* config = nullptr;  // with active; the session's own
};

struct Process {
    bool ignore_health = false;  // for clients that say "Unhealthy" because nobody gave them a health check
    Duration first_heartbeat = std::chrono::seconds(60);
    Duration silence = std::chrono::seconds(15);
    // After Terminate was asked for: how long it has until it is ended without being asked.
    Duration terminate_grace = std::chrono::seconds(30);
};

// Decides without I/O; one thread at a time. `now` never goes backwards between calls.
//
// StandingBy: it can take a match. An offer is in the next answer while it says StandingBy, which is its
// acknowledgement; when it says Active, players may come. Terminating and Terminated: it wishes to end.
class Session {
public:
    Session(Process process, Time begun);

    HeartbeatAnswer heartbeat(Time now, const Heartbeat& beat);

    // An offer to a process that does not stand by any more is left without an answer.
    void offer(const SdkMatch& match, std::string session_id);
    // Of the match that is offered.
    void set_players(LobbyId lobby, const std::vector<AccountId>& accounts);
    // Terminate, if it was told of the match. If not, it stands by as before, and says so again.
    void abort(Time now, LobbyId lobby);
    void stop(Time now);

    // A tick that comes late is no proof of silence: an agent that was stopped must not blame its processes.
    void tick(Time now);
    std::optional<Time> next_tick() const;

    std::vector<SdkFact> take_facts();
    bool has_facts() const { return !facts_.empty(); }
    GameState state() const { return state_; }
    std::size_t players() const { return players_; }

    // An offer that it was not told of is void after an adoption: Muster has taken it back with the lost link.
    std::string saved() const;
    static std::optional<Session> restored(Process process, Time now, std::string_view saved);

private:
    static constexpr Duration late = std::chrono::seconds(5);

    void entered(Time now, GameState state);
    void terminate(Time now);
    void over(SdkFact::Kind kind, std::string reason = {});
    void fact(SdkFact::Kind kind, LobbyId lobby = {}, std::string reason = {});

    Process process_;
    GameState state_ = GameState::initializing;
    std::size_t players_ = 0;
    bool terminating_ = false;   // Terminate is the answer from now on
    bool over_ = false;          // what must end it was said
    bool accepted_ = false;      // the match in config_ was handed over
    bool perhaps_told_ = false;  // of a match that is off, by an agent that died
    std::optional<SessionConfig> config_;
    std::optional<Time> silent_at_;
    std::optional<Time> terminate_due_;
    std::vector<SdkFact> facts_;
};

}  // namespace muster::gsdk
