// The one clock read of a worker's turn, on its time lines.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace muster {

struct TurnTime {
    TurnTime(Time real, Duration stood_still)
        : now(real), running(real - stood_still), gaps(stood_still), now_ms(low_ms_of(real)) {}

    Time now;
    // Leaves out the gaps in which the whole process stood still (L-8).
    Time running;
    // All gaps so far.
    Duration gaps;
    // The low half of `now` in milliseconds, for what is measured in seconds and must be small.
    std::uint32_t now_ms;

private:
    static std::uint32_t low_ms_of(Time time) {
        return static_cast<std::uint32_t>(
            std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count());
    }
};

}  // namespace muster
