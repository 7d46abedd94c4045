// Core's figures at one moment, for metrics and logs: plain values, no reference to core.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/histogram.h"
#include "core/fleet_figures.h"
#include "core/hosts.h"
#include "core/match_figures.h"
#include "core/player_figures.h"
#include "core/records.h"
#include "core/world_clock.h"
#include "protocol/port.h"
#include "protocol/server_status.h"
#include "protocol/wire_error.h"

namespace muster {

class Core;

struct CoreFigures {
    struct OfRegion {
        std::string name;
        std::array<std::uint64_t, 4> servers{};  // by ServerStatus
        double cpu_percent = 0;                  // averages over the servers that are not Offline
        double memory_percent = 0;
        double capacity_ratio = 0;  // load by capacity, of the same
        bool brake_on = false;      // keeps servers that fell silent together
        std::uint64_t requests = 0;
        std::uint64_t retries = 0;
        std::uint64_t timeouts = 0;
        std::map<std::string_view, std::uint64_t> failures;  // by the refusal's label
        Histogram allocation_seconds{{}};
        Histogram uptime_seconds{{}};
    };

    std::vector<OfRegion> regions;
    std::array<std::uint64_t, 6> matches{};  // by MatchState: those that are not over
    std::size_t allocations_in_flight = 0;
    std::size_t matchmakers = 0;
    std::size_t owed_aborts = 0;  // aborts that game servers hear when they are back
    std::uint64_t owed_aborts_dropped = 0;
    std::size_t player_lists = 0;    // of lobbies, with a match or without
    std::size_t untold_matches = 0;  // over, and their matchmaker may not have heard so
    std::uint64_t untold_matches_dropped = 0;
    FleetFigures fleet;
    MatchFigures match;
    PlayerFigures players;
    HostCounts hosts;
    std::size_t entities = 0;
    GameTime clock;
    std::int32_t clock_speed = 1;
    std::array<std::array<std::uint64_t, wire_errors.size()>, ports.size()> protocol_errors{};
    struct RefusedOf {
        Port port = Port::servers;
        std::string_view reason;  // the refusal's label
        std::uint64_t count = 0;
    };
    std::vector<RefusedOf> registrations_refused;
    std::uint64_t stale_messages = 0;
    std::array<std::uint64_t, ports.size()> wrong_secrets{};
    std::size_t blocks = 0;
    std::array<std::uint64_t, ports.size()> blocked{};  // links and sessions closed by a block
    std::uint64_t clock_steps = 0;
    std::uint64_t events_not_written = 0;
    bool store_up = true;
};

// Looks at every server and match once: about once a second, not more.
CoreFigures figures_of(const Core& core);

}  // namespace muster
