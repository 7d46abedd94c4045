#include "http/recent_failures.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "protocol/error_texts.h"

namespace muster {
namespace {

// The fleet's or Muster's own doing.
constexpr std::array counted{Refusal::no_servers_available, Refusal::server_allocation_timeout,
                             Refusal::store_unavailable, Refusal::server_busy};

}  // namespace

RecentFailures::Sample RecentFailures::sample_of(const FleetView& view) {
    Sample sample{view.time, 0, view.failures};
    for (const RegionRow& region : view.regions) sample.requests += region.requests;
    return sample;
}

void RecentFailures::add(const FleetView& view) {
    samples_.push_back(sample_of(view));
    const std::int64_t begin = view.time.value - std::chrono::milliseconds(window).count();
    while (samples_.size() > 1 && samples_[1].time.value <= begin) samples_.pop_front();
}

std::optional<std::string> RecentFailures::complaint(const FleetView& now) const {
    if (samples_.empty()) return std::nullopt;
    const Sample& then = samples_.front();
    const Sample latest = sample_of(now);
    const std::uint64_t asked = latest.requests - then.requests;
    std::uint64_t failed = 0;
    std::pair<std::uint64_t, Refusal> most{0, Refusal::no_servers_available};
    for (const Refusal refusal : counted) {
        const auto count = [key = std::string(label(refusal))](const Sample& sample) {
            const auto found = sample.failures.find(key);
            return found == sample.failures.end() ? 0 : found->second;
        };
        const std::uint64_t more = count(latest) - count(then);
        failed += more;
        most = std::max(most, std::pair{more, refusal});
    }
    if (failed < failures_least || static_cast<double>(failed) <= share_most * static_cast<double>(asked))
        return std::nullopt;
    return fmt::format("{} of {} allocations failed in the last minute, most of them with \"{}\"", failed,
                       std::max(asked, failed), text(most.second));
}

}  // namespace muster
