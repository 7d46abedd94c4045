// A world of relays, their peers, and cells whose owners change, from one seed (N-7, fault 85).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "nodesim/relay_side.h"
#include "sim/judge.h"

namespace muster::nodesim {

struct RelayOptions {
    std::uint64_t seed = 1;
    std::size_t relays = 2;
    std::size_t cells = 1;
    std::size_t peers = 12;  // of all relays together
    Duration mischief = std::chrono::seconds(40);
    RelaySabotage sabotage = RelaySabotage::none;
    bool readable_trace = false;
};

struct RelayReport {
    std::optional<sim::Objection> objection;
    std::vector<std::string> trace;
    std::uint64_t trace_hash = 0;
    std::uint64_t owners = 0;
    std::uint64_t links_broken = 0;
    std::uint64_t links_lost_one_way = 0;
    std::uint64_t answers = 0;
};

// Plays it to the end, or to the first broken rule. The same options give the same report.
RelayReport run_relays(const RelayOptions& options);

}  // namespace muster::nodesim
