// A limit on how often something is done: `rate` times a second, and `burst` times at once.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace muster {

// One thread at a time.
class Pace {
public:
    struct Limits {
        double rate = 500;
        double burst = 500;
    };

    explicit Pace(const Limits& limits) : limits_(limits), left_(limits.burst) {}

    // Takes turns and says how long to wait before the last of them; with none, whether earlier ones are still owed.
    Duration take(Time now, double turns = 1) {
        if (now > last_) {
            left_ = std::min(limits_.burst, left_ + to_seconds(now - last_) * limits_.rate);
            last_ = now;
        }
        left_ -= turns;
        if (left_ >= 0) return Duration{0};
        return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(-left_ / limits_.rate));
    }

private:
    Limits limits_;
    double left_;
    Time last_{};
};

}  // namespace muster
