// Figures of the process itself.
#pragma once

#include <vector>

#include "base/log.h"
#include "http/metrics_text.h"
#include "process/log_output.h"

namespace muster {

// `expiry` is that of its certificates.
std::vector<Metric> process_metrics(const LogOutput& output, const Log& log, Metric expiry);

}  // namespace muster
