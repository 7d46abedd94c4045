// What the times among a client's options may be.
#pragma once

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "muster/time.h"

namespace muster::sdk {

// Longer is as good as never. Shorter sums with a time of any clock stay in its range.
constexpr Duration option_time_max = std::chrono::hours(24) * 365 * 10;

// Brings a longer one down to the maximum. Throws std::invalid_argument with the option's name when it is below
// `least`.
inline void check_time(Duration& option, const char* name, Duration least = Duration{1}) {
    if (option < least) throw std::invalid_argument(name);
    option = std::min(option, option_time_max);
}

}  // namespace muster::sdk
