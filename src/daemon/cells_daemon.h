// A node of a cluster with several cells: it serves all peers by its relay, and owns 0 to n of the cells, each
// with a game of its own.
#pragma once

#include "cluster/node_life.h"
#include "config/config.h"
#include "daemon/daemon.h"
#include "daemon/node_links.h"
#include "process/log_output.h"
#include "process/signals.h"

namespace muster {

// Runs until it is told to stop. Throws what a start may fail with. What it is given outlives it.
void run_cells(const Config& config, const ServeOptions& options, LogOutput& output, Signals& signals,
               ClusterFigures& figures, KeptSockets& kept);

}  // namespace muster
