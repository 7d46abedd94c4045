// The failure rate of recent allocations, sampled from the views.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/time.h"
#include "core/views.h"

namespace muster {

// HTTP thread only.
class RecentFailures {
public:
    // What failed for lack of servers, of time or of the store, of what was asked for within about this time, …
    static constexpr std::chrono::minutes window{1};
    // … is worth a word from this many and from over this share on. What was asked for wrongly does not count.
    static constexpr std::uint64_t failures_least = 5;
    static constexpr double share_most = 0.05;

    void add(const FleetView& view);

    // A warning for the operator; none when the rate is low.
    std::optional<std::string> complaint(const FleetView& now) const;

private:
    struct Sample {
        UnixMs time;
        std::uint64_t requests = 0;
        std::map<std::string, std::uint64_t> failures;
    };

    static Sample sample_of(const FleetView& view);

    std::deque<Sample> samples_;  // by time; the first may be from before the window
};

}  // namespace muster
