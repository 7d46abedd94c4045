// One pass of the game loop, as its handlers see it.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace muster {

// The loop reads the clock once and hands this down: all that happens in the pass happens at `now`.
struct Pass {
    Time now;
    // The same moment in running time, which excludes the time for which the process was stopped. Liveness is
    // judged by it: after a stop, peers that could not be heard must not count as silent.
    Time running;
    std::uint64_t number = 0;
};

}  // namespace muster
