// A match's way from its request to its end, step by step, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/json_value.h"
#include "cli/listing.h"

namespace muster {

struct TimelineStep {
    std::int64_t time_ms = 0;
    std::string what;  // "offered"
    std::string text;  // "server 12, best of 833: score 97.30, load 1; next 5 (97.10), 9 (96.80)"
};

// Of the API's match, null when it is not known any more, and of the events of its lobby; oldest first. What others
// named is made safe.
std::vector<TimelineStep> timeline_of(const JsonValue& match, const std::vector<JsonValue>& events,
                                      const RegionNames& regions);

}  // namespace muster
