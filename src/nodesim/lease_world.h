// A world of nodes and one engine, without peers: leases, fences and promises, from one seed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/virtual_clock.h"
#include "nodesim/cluster_node.h"
#include "nodesim/engine.h"
#include "nodesim/lease_judge.h"
#include "nodesim/node_mischief.h"
#include "nodesim/promise_work.h"
#include "nodesim/sabotage.h"
#include "sim/agenda.h"
#include "sim/trace.h"

namespace muster::nodesim {

// What goes wrong.
enum class LeaseScene : std::uint8_t {
    mischief,     // anything, all the time
    quiet,        // nothing
    stopped,      // the first owner, once, at `stop_at_step` of its own
    killed,       // the first owner, for good
    powered_off,  // the same, and the engine is not told
    cut_off,      // the first owner, from the engine, for longer than anybody waits
    engine_away,  // for a minute
};

struct LeaseOptions {
    std::uint64_t seed = 1;
    std::size_t nodes = 3;
    std::size_t cells = 2;
    Duration length = std::chrono::seconds(90);  // then the faults are off
    Sabotage sabotage = Sabotage::none;
    LeaseScene scene = LeaseScene::mischief;
    std::uint64_t stop_at_step = 0;
    bool readable_trace = false;
};

struct LeaseReport {
    std::optional<sim::Objection> objection;
    std::vector<std::string> trace;
    std::uint64_t trace_hash = 0;
    std::uint64_t takeovers = 0;
    std::uint64_t hand_overs = 0;
    std::uint64_t batches = 0;
    std::uint64_t promises = 0;  // answered
    std::uint64_t unknown = 0;   // outcomes
    std::uint64_t warnings = 0;
    std::uint64_t engine_failovers = 0;
    std::uint64_t terminated = 0;  // connections that held the row of a silent owner
    std::uint64_t lost = 0;        // changes that no standby had
    Duration longest_silence{0};   // of a cell
};

// Plays it to the end, or to the first broken rule. The same options give the same report.
LeaseReport run_leases(const LeaseOptions& options);

}  // namespace muster::nodesim
