// How long honest peers waited, act by act, against the calm before the storm.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "moment.h"

namespace muster::storm {

enum class Service : std::uint8_t { liveness, promises, http };
inline constexpr std::size_t service_count = 3;
std::string_view to_string(Service service);

// An act's p99 may be twice the calm's, or `floor`, whichever is more; and what the machine itself adds: four times the
// p99 of how late threads that only sleep woke up in the same act, and the longest time in which the storm's own
// thread did not read its links; and for promises, which wait for the disk twice, twice its longest sync. The floor is
// what a busy machine needs. Without a calm to compare with, or on a machine too busy to tell, nobody is slow.
struct LatencyLimits {
    Span floor{50'000'000};
    // A machine that is later than this, or has so many threads that want to run for each processor, tells nothing
    // about a daemon. The storm and the daemon themselves are about three.
    Span noise_most{100'000'000};
    double crowding_most = 2.5;
};

// One thread.
class Latencies {
public:
    explicit Latencies(LatencyLimits limits) : limits_(limits) {}

    void add(Service service, Span waited) { waited_[index(service)].push_back(waited); }
    void add_noise(Span late) { noise_.push_back(late); }
    // The thread that times the answers did not look for them for so long: they seem to come later than they did.
    void add_away(Span away) { longest_away_ = std::max(longest_away_, away); }
    // A sync of the store took the disk itself so long.
    void add_sync(Span took) { longest_sync_ = std::max(longest_sync_, took); }
    // How many threads of the machine want to run now, for each processor.
    void add_crowding(double threads) { crowding_.push_back(threads); }

    // What was added since the last of these calls is the calm that all acts are measured against.
    void end_calm();
    // What was added since is an act; which service was too slow, if any.
    std::optional<std::string> end_act();
    // How many times a service's speed was judged.
    std::size_t judged() const { return judged_; }
    // Since the act began, for the line that tells of it.
    std::string figures() const;

private:
    // Fewer say nothing about a hundredth.
    static constexpr std::size_t samples_least = 100;

    static std::size_t index(Service service) { return static_cast<std::size_t>(service); }
    static Span p99(std::vector<Span> all);
    double crowding() const;
    void clear();

    LatencyLimits limits_;
    std::array<std::vector<Span>, service_count> waited_;
    std::vector<Span> noise_;
    std::vector<double> crowding_;
    Span longest_sync_{};
    Span longest_away_{};
    std::array<Span, service_count> calm_{};
    std::array<bool, service_count> calm_known_{};  // it had enough samples to compare with
    std::size_t judged_ = 0;
};

}  // namespace muster::storm
