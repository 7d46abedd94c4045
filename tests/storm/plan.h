// What a storm does, act by act: drawn from a seed before it begins, and printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attack.h"
#include "moment.h"

namespace muster::storm {

// What goes wrong with the machine in an act. The last three end a life of the daemon.
enum class FaultKind : std::uint8_t {
    none,
    stop,         // SIGSTOP and SIGCONT, at random instants
    date,         // the date steps, and steps back
    slow_disk,    // fsync takes long
    full_disk,    // no room for the store
    descriptors,  // none left for new connections
    kill,         // kill -9
    terminate,    // SIGTERM
    broken_disk,  // fsync fails
};
std::string_view to_string(FaultKind kind);

struct Act {
    std::vector<AttackKind> attacks;
    FaultKind fault = FaultKind::none;
    std::vector<AttackKind> attacks_by_fault;  // while the fault lasts, these too
    Span length{};
    Span fault_after{};              // the fault begins so long after the act
    Span fault_length{};             // of a stop: each one's
    std::int64_t date_step_ms = 0;   // of a date
    std::int32_t sync_delay_ms = 0;  // of a slow disk
};

// From a start of the daemon to its end.
struct Life {
    bool spins = false;  // idle_cpu_enabled = false
    int net_threads = 1;
    bool entity_heartbeats = false;
    std::vector<Act> acts;
};

struct PlanOptions {
    std::uint64_t seed = 1;
    Span length = 60s;
    // Only these; all when not given.
    std::optional<std::vector<AttackKind>> attacks;
    std::optional<std::vector<FaultKind>> faults;
};

struct Plan {
    Span calm = 5s;
    std::vector<Life> lives;
};

// Every attacker and every fault comes at least once when there is time for it: a minute is enough.
Plan make_plan(const PlanOptions& options);

std::string to_string(const Act& act);
std::string to_string(const Life& life);

}  // namespace muster::storm
