// How much history a store keeps.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace muster {

// How much of the past is kept: what is older goes, and of what is left the oldest when it is too much. Lobbies that
// are over are remembered for `lobbies`, and the latest million in any case.
struct HistoryLimits {
    Duration keep = std::chrono::hours(7 * 24);
    std::int64_t bytes_max = std::int64_t{2} << 30;
    Duration lobbies = std::chrono::hours(24);
};

}  // namespace muster
