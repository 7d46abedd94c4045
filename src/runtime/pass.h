// One pass of the game loop, as its handlers see it.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace muster {

// The loop reads the clock once and hands this down: all that happens in the pass happens at `now`.
struct Pass {
    Time now;
    // The same moment on the time line that leaves out what the whole process stood still (L-8). Liveness is judged
    // here: a stopped process must not take its own silence for its peers' death.
    Time running;
    std::uint64_t number = 0;
};

}  // namespace muster
