// The whole of Muster at a glance: what the page shows first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "core/views.h"
#include "http/api_game.h"

namespace muster {

// "ok", "warn" or "bad", and why.
struct HealthVerdict {
    std::string_view status = "ok";
    std::vector<std::string> reasons;
};
HealthVerdict verdict_of(const FleetView& view, const ProcessFigures& process);

// The value that `share` (0 to 1) of those counted do not exceed, between the bounds of its bucket by proportion; 0
// when nothing was counted.
double quantile(const Distribution& counted, double share);

// A list of {"id","name","servers":{…},"capacity",…}, one per region. Averages are over servers that are not offline.
void describe_regions(const FleetView& view, FieldSink& out);

std::string overview_json(const FleetView& view, const ProcessFigures& process);

}  // namespace muster
