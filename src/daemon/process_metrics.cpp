#include "daemon/process_metrics.h"

#include <string>
#include <utility>

#include "process/version.h"

namespace muster {

std::vector<Metric> process_metrics(const LogOutput& output, const Log& log, Metric expiry) {
    Metric build{"muster_build_info", "Which Muster this is", MetricType::gauge, {}, {}};
    build.samples.push_back({{{"version", std::string(version())}}, 1});
    return {
        std::move(build),
        counter("muster_log_dropped_total", "Log lines that nobody could read", static_cast<double>(output.dropped())),
        counter("muster_log_held_back_total", "Log lines held back because there were too many of their kind",
                static_cast<double>(log.suppressed())),
        std::move(expiry),
    };
}

}  // namespace muster
