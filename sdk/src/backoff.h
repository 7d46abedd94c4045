// How long to wait before the next connection attempt: exponential with full jitter, so that ten thousand servers that
// lost Muster at one moment do not come back at one moment (fault 28).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/random.h"
#include "muster/time.h"

namespace muster::sdk {

class Backoff {
public:
    static constexpr std::chrono::milliseconds base{100};
    static constexpr std::chrono::seconds cap{10};

    explicit Backoff(std::uint64_t seed) : random_(seed) {}

    void seed(std::uint64_t seed) { random_ = Random(seed); }

    // Anything from nothing to base · 2^failures, at most `cap`, evenly.
    Duration next() {
        constexpr int doublings_max = 7;  // 100 ms · 2^7 is over the cap
        const Duration most = std::min<Duration>(cap, base * (1 << failures_));
        failures_ = std::min(failures_ + 1, doublings_max);
        return Duration(static_cast<Duration::rep>(random_.below(static_cast<std::uint64_t>(most.count()) + 1)));
    }
    // The link has shown that it works.
    void reset() { failures_ = 0; }

private:
    Random random_;
    int failures_ = 0;
};

}  // namespace muster::sdk
