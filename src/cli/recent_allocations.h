// How allocations went in the last minute: the API counts from the daemon's start on, a live view wants what is now.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "cli/json_value.h"

namespace muster {

class RecentAllocations {
public:
    static constexpr std::int64_t span_ms = 60'000;

    // One look at the overview. A daemon that was restarted counts from 0: what was seen before is forgotten.
    void take(const JsonValue& overview);

    // Between the last two looks that differ in time; 0 before there are two.
    double per_second() const { return per_second_; }
    // Of those asked for in the last minute; none where nothing was.
    std::optional<double> share_given() const;
    // What `share` of those given in the last minute did not exceed; none where nothing was given.
    std::optional<double> seconds(double share) const;

private:
    struct Look {
        std::int64_t time_ms = 0;
        std::int64_t requests = 0;
        std::int64_t successes = 0;
        std::vector<double> bounds_ms{};
        std::vector<std::uint64_t> counts{};
    };

    std::deque<Look> looks_;  // oldest first; the first is the newest that is a minute old, or the first of all
    double per_second_ = 0;
};

}  // namespace muster
