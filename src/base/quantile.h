// A percentile out of a histogram's buckets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace muster {

// The `share` quantile (0 to 1), interpolated linearly within its bucket; 0 when nothing was counted. `counts` has one
// entry more than `bounds`: the values above all bounds.
inline double quantile(std::span<const double> bounds, std::span<const std::uint64_t> counts, double share) {
    std::uint64_t all = 0;
    for (const std::uint64_t count : counts) all += count;
    if (all == 0 || bounds.empty()) return 0;
    const double wanted = share * static_cast<double>(all);
    double before = 0;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        const auto count = static_cast<double>(counts[i]);
        if (before + count >= wanted && count > 0) {
            const double low = i == 0 ? 0 : bounds[i - 1];
            return low + (bounds[i] - low) * (wanted - before) / count;
        }
        before += count;
    }
    return bounds.back();
}

}  // namespace muster
