// The figures of loop, core, network and store under the names that dashboards and alerts rely on.
#pragma once

#include <vector>

#include "base/time.h"
#include "daemon/game.h"
#include "http/metrics_text.h"
#include "net/network.h"
#include "store/store.h"

namespace muster {

std::vector<Metric> loop_metrics(const LoopFigures& loop);
std::vector<Metric> core_metrics(const CoreFigures& core);
std::vector<Metric> net_metrics(const Network& network);
std::vector<Metric> store_metrics(const StoreFigures& store, Duration recovery);

}  // namespace muster
