// What the fleet counts beside its events (F-11).
#pragma once

#include <cstdint>

#include "base/histogram.h"

namespace muster {

struct FleetFigures {
    std::uint64_t bad_load_reports = 0;
    std::uint64_t identity_mismatches = 0;  // a server id that the connection does not hold
    std::uint64_t load_mismatches = 0;      // heartbeats that report fewer matches than are held
    std::uint64_t brakes = 0;
    Histogram rtt_seconds{{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1}};
    Histogram jitter_seconds{{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5}};
};

}  // namespace muster
