// Counts of values by size, as a Prometheus histogram wants them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace muster {

// One thread. `bounds` are the buckets' upper bounds, ascending; a last bucket takes what lies above.
class Histogram {
public:
    explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1, 0) {}

    void observe(double value) {
        const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
        ++counts_[static_cast<std::size_t>(bucket)];
        sum_ += value;
        ++count_;
    }

    std::span<const double> bounds() const { return bounds_; }
    // Per bucket, not cumulative.
    std::span<const std::uint64_t> counts() const { return counts_; }
    double sum() const { return sum_; }
    std::uint64_t count() const { return count_; }

private:
    std::vector<double> bounds_;
    std::vector<std::uint64_t> counts_;
    double sum_ = 0;
    std::uint64_t count_ = 0;
};

}  // namespace muster
