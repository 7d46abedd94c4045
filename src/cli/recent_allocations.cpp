#include "cli/recent_allocations.h"

#include <algorithm>
#include <utility>

#include "base/quantile.h"

namespace muster {

void RecentAllocations::take(const JsonValue& overview) {
    const JsonValue allocations = overview["allocations"];
    Look now{overview["time_ms"].integer(), allocations["requests"].integer(), allocations["successes"].integer()};
    for (const JsonValue& bound : allocations["latency_ms"]["buckets_ms"].items())
        now.bounds_ms.push_back(bound.number());
    for (const JsonValue& count : allocations["latency_ms"]["counts"].items())
        now.counts.push_back(static_cast<std::uint64_t>(std::max<std::int64_t>(count.integer(), 0)));
    if (now.counts.size() != now.bounds_ms.size() + 1) {  // not ours, or older than this field
        now.bounds_ms.clear();
        now.counts.clear();
    }

    if (!looks_.empty()) {
        const Look& before = looks_.back();
        if (now.requests < before.requests || now.successes < before.successes || now.bounds_ms != before.bounds_ms) {
            looks_.clear();
            per_second_ = 0;
        } else if (now.time_ms <= before.time_ms) {
            return;  // a view that is still the same has nothing new to say
        } else {
            per_second_ = static_cast<double>(now.requests - before.requests) * 1000 /
                          static_cast<double>(now.time_ms - before.time_ms);
        }
    }
    looks_.push_back(std::move(now));
    while (looks_.size() > 2 && looks_.back().time_ms - looks_[1].time_ms >= span_ms) looks_.pop_front();
}

std::optional<double> RecentAllocations::share_given() const {
    if (looks_.empty()) return std::nullopt;
    const std::int64_t asked = looks_.back().requests - looks_.front().requests;
    const std::int64_t given = looks_.back().successes - looks_.front().successes;
    if (asked <= 0) return std::nullopt;
    // Some were asked for before the minute began.
    return std::min(static_cast<double>(given) / static_cast<double>(asked), 1.0);
}

std::optional<double> RecentAllocations::seconds(double share) const {
    if (looks_.empty()) return std::nullopt;
    std::vector<std::uint64_t> counts = looks_.back().counts;
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        counts[i] -= std::min(counts[i], looks_.front().counts[i]);
        all += counts[i];
    }
    if (all == 0) return std::nullopt;
    return quantile(looks_.back().bounds_ms, counts, share) / 1000;
}

}  // namespace muster
