#include "latencies.h"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

namespace muster::storm {

std::string_view to_string(Service service) {
    switch (service) {
        case Service::liveness:
            return "liveness";
        case Service::promises:
            return "promises";
        case Service::http:
            return "http";
    }
    return "";
}

Span Latencies::p99(std::vector<Span> all) {
    if (all.empty()) return Span{0};
    const auto at = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) * 99 / 100);
    std::nth_element(all.begin(), at, all.end());
    return *at;
}

void Latencies::clear() {
    for (auto& each : waited_) each.clear();
    noise_.clear();
    crowding_.clear();
    longest_sync_ = {};
    longest_away_ = {};
}

double Latencies::crowding() const {
    const double sum = std::accumulate(crowding_.begin(), crowding_.end(), 0.0);
    return crowding_.empty() ? 0 : sum / static_cast<double>(crowding_.size());
}

void Latencies::end_calm() {
    for (std::size_t i = 0; i < service_count; ++i) {
        calm_[i] = p99(waited_[i]);
        calm_known_[i] = waited_[i].size() >= samples_least;
    }
    clear();
}

std::optional<std::string> Latencies::end_act() {
    constexpr int calm_times = 2;
    constexpr int noise_times = 4;
    constexpr int sync_times = 2;
    const Span noise = p99(noise_);
    std::optional<std::string> slow;
    if (noise > limits_.noise_most || crowding() > limits_.crowding_most) {
        clear();
        return slow;
    }
    for (std::size_t i = 0; i < service_count; ++i) {
        if (!calm_known_[i] || waited_[i].size() < samples_least) continue;
        ++judged_;
        const bool on_disk = static_cast<Service>(i) == Service::promises;
        const Span disk = on_disk ? sync_times * longest_sync_ : Span{0};
        const Span machine = noise_times * noise + longest_away_ + disk;
        const Span limit = std::max(calm_times * calm_[i], limits_.floor) + machine;
        const Span waited = p99(waited_[i]);
        if (waited <= limit) continue;
        slow = fmt::format(
            "{} was starved: p99 {:.1f} ms over {} answers; the calm's was {:.1f} ms, the machine's own "
            "lateness {:.1f} ms, the storm's own {:.1f} ms, the limit {:.1f} ms",
            to_string(static_cast<Service>(i)), milliseconds(waited), waited_[i].size(), milliseconds(calm_[i]),
            milliseconds(noise), milliseconds(longest_away_), milliseconds(limit));
    }
    clear();
    return slow;
}

std::string Latencies::figures() const {
    std::string line;
    for (std::size_t i = 0; i < service_count; ++i) {
        line += fmt::format("{} p99 {:.1f} ms ({}), ", to_string(static_cast<Service>(i)),
                            milliseconds(p99(waited_[i])), waited_[i].size());
    }
    return line + fmt::format("machine {:.1f} ms, storm {:.1f} ms, disk {:.1f} ms, {:.1f} threads a processor",
                              milliseconds(p99(noise_)), milliseconds(longest_away_), milliseconds(longest_sync_),
                              crowding());
}

}  // namespace muster::storm
