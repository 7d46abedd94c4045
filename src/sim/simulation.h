// A whole world in one call: Muster, its network and its disk, game servers, matchmakers, faults and judges, all from
// one seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/host.h"
#include "sim/judge.h"
#include "sim/sabotage.h"
#include "sim/scenario.h"

namespace muster::sim {

struct SimOptions {
    std::uint64_t seed = 1;
    Scenario scenario = Scenario::mixed;
    // What the scenario says, unless it is named here.
    std::optional<Duration> duration{};  // until the faults are switched off
    std::optional<int> servers{};
    std::optional<int> matchmakers{};
    std::optional<int> players{};
    std::optional<int> slots{};  // of each server
    std::optional<double> asks_per_minute{};
    std::optional<std::size_t> requests_max{};  // in flight

    bool readable_trace = false;    // keeps the lines that SimReport::trace is made of
    bool whole_trace = false;       // of everybody, and from the beginning
    std::uint64_t die_at_step = 0;  // Muster is killed at this step of its store and its sends, once
    Sabotage* sabotage = nullptr;   // outlives the call
    // Hears now and then which share of the virtual time is over, rising from 0 to 1, and changes nothing. What it
    // throws ends the run and comes out of it.
    std::function<void(double)> on_progress{};
};

struct SimReport {
    std::optional<Objection> objection;  // empty: all rules were kept
    std::vector<std::string> trace;      // the last lines about the lobby or server concerned
    std::uint64_t trace_hash = 0;        // the same for the same options and build (invariant 21)

    Duration virtual_time{0};
    HostFigures muster;
    std::uint64_t registrations = 0;  // of game servers, resumed ones too
    std::uint64_t servers_removed = 0;
    std::uint64_t links_lost_one_way = 0;
    std::uint64_t brakes = 0;

    std::uint64_t lobbies_allocated = 0;
    std::uint64_t successes = 0;                    // answers, repeated ones too
    std::map<std::string, std::uint64_t> failures;  // answers, by what they say
    std::uint64_t retries = 0;
    Duration allocation_p50{0};
    Duration allocation_p95{0};
    Duration allocation_p99{0};
    Duration allocation_max{0};
    std::uint64_t tokens_accepted = 0;
    std::uint64_t tokens_refused = 0;
    std::uint64_t player_logins = 0;
    std::uint64_t player_resumes = 0;
    std::map<std::string, std::uint64_t> player_closes;  // sessions, by why they ended
    std::uint64_t player_idles = 0;
    std::uint64_t heartbeats = 0;       // asked of entities
    std::uint64_t clock_messages = 0;   // to players
    std::uint64_t invited = 0;          // players told to come to a match
    std::uint64_t sent_away = 0;        // and that it fell through
    Duration longest_wait_for_ping{0};  // of a player, since the faults were switched off
    Duration longest_return{0};         // after all links were lost at once: until the last server was back
};

// Plays it to the end, or to the first broken rule. The same options give the same report.
SimReport run_simulation(const SimOptions& options);

// How to play exactly this again, for a person at a shell.
std::string replay_command(const SimOptions& options);

}  // namespace muster::sim
