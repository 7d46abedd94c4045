// The overview that the page shows first: health, regions, and figures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "core/views.h"
#include "http/api_game.h"
#include "http/recent_failures.h"

namespace muster {

// "ok", "warn" or "bad", and why.
struct HealthVerdict {
    std::string_view status = "ok";
    std::vector<std::string> reasons;
};
HealthVerdict verdict_of(const FleetView& view, const ProcessFigures& process, const RecentFailures& recent);

// A list of {"id","name","servers":{…},"capacity",…}, one per region. Averages are over servers that are not offline.
void describe_regions(const FleetView& view, FieldSink& out);

// Of all regions, since the start.
struct AllocationFigures {
    std::uint64_t requests = 0;
    std::uint64_t successes = 0;
    std::uint64_t retries = 0;
};
AllocationFigures allocation_figures(const FleetView& view);
std::int64_t failures_of(const RegionRow& region);

std::string overview_json(const FleetView& view, const ProcessFigures& process, const RecentFailures& recent);

}  // namespace muster
