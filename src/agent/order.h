// What the supervisor wants done: the layer around it does it and says how it went.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "agent/process.h"
#include "agent/run_config.h"
#include "agent/sdk_side.h"

namespace muster {

// Answered by spawned(), spawn_failed() or port_taken().
struct StartProcess {
    ProcessId process{};
    std::shared_ptr<const RunConfig> run{};
    std::uint16_t port = 0;
    std::string life{};
};
// To the process itself, its SDK first: it is to end.
struct StopProcess {
    ProcessId process{};
    int signal = 0;
};
// SIGKILL to everything that belongs to the process: it, and what it started.
struct KillProcess {
    ProcessId process{};
};

// Registers the process at Muster as a game server. A match that it holds already is one that an earlier agent took.
struct JoinMuster {
    ProcessId process{};
    std::uint16_t port = 0;
    std::optional<MatchHeld> match{};
};
// Takes it out again. A crash aborts its matches, anything else ends them first.
struct LeaveMuster {
    ProcessId process{};
    bool crashed = false;
};
struct DrainAtMuster {
    ProcessId process{};
    bool draining = false;
};

// Of a process that registered itself and is to end: it takes no new match, and Muster is asked how many it has.
// Answered by matches_held().
struct AskMatches {
    ProcessId process{};
};

// To the process through its SDK.
struct OfferMatch {
    ProcessId process{};
    SdkMatch match{};
};
struct DropMatch {
    ProcessId process{};
    LobbyId lobby{};
    std::string reason{};
};

// To Muster.
struct TellMatch {
    enum class What : std::uint8_t { accept, decline, ready, started, ended };
    ProcessId process{};
    LobbyId lobby{};
    What what = What::accept;
};

// What happened, for the log, Muster's events and whoever keeps the state on disk.
struct ProcessNews {
    enum class Kind : std::uint8_t { started, ready, exited, unhealthy, crash_loop, changed };
    Kind kind = Kind::changed;
    ProcessId process{};
    std::string text{};  // why, for people
};

using Order = std::variant<StartProcess, StopProcess, KillProcess, JoinMuster, LeaveMuster, DrainAtMuster, AskMatches,
                           OfferMatch, DropMatch, TellMatch, ProcessNews>;

// Whose records are written before any of the orders is obeyed: of processes that live on and have changed. A process
// that has ended keeps its record until Muster was told, so that a new agent would tell it again.
std::set<ProcessId> to_be_written_first(const std::vector<Order>& orders);

}  // namespace muster
