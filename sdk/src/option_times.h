// What the times among a client's options may be.
#pragma once

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>

#include "muster/time.h"

namespace muster::sdk {

// Longer is as good as never. Shorter sums with a time of any clock stay in its range.
constexpr Duration option_time_max = std::chrono::hours(24) * 365 * 10;

// Brings a longer one down to the maximum. Throws std::invalid_argument, which names the option and what it may be,
// when it is below `least`, which is 0 or the shortest time there is.
inline void check_time(Duration& option, const char* name, Duration least = Duration{1}) {
    if (option < least)
        throw std::invalid_argument(std::string(name) +
                                    (least == Duration{} ? " must be 0 or longer" : " must be longer than 0"));
    option = std::min(option, option_time_max);
}

}  // namespace muster::sdk
