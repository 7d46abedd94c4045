// The overview's figures of the last ten minutes, so that a page that was just opened has a past to show.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>

#include "core/views.h"
#include "http/api_game.h"

namespace muster {

// HTTP thread only. A sample is kept as the text it will be shown as: some 500 bytes, more with many regions.
class OverviewHistory {
public:
    static constexpr std::chrono::seconds every{2};
    static constexpr std::size_t kept = 300;

    void add(const FleetView& view, const ProcessFigures& process);

    // {"every_ms","allocation_buckets_ms":[…],"player_buckets_ms":[…],"samples":[{"time_ms","uptime_s","requests",…}]},
    // oldest first. What is counted is counted since the start, as in the overview.
    std::string json() const;

    std::size_t size() const { return samples_.size(); }

private:
    std::string buckets_;  // the two lists of bounds; every sample has the same ones
    std::deque<std::string> samples_;
};

}  // namespace muster
