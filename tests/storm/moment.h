// The storm's own time: every part of it reads this clock.
#pragma once

#include <chrono>

namespace muster::storm {

using Moment = std::chrono::steady_clock::time_point;
using Span = std::chrono::nanoseconds;
using namespace std::chrono_literals;

inline Moment now() {
    return std::chrono::steady_clock::now();
}
inline double seconds(Span span) {
    return std::chrono::duration<double>(span).count();
}
inline double milliseconds(Span span) {
    return std::chrono::duration<double, std::milli>(span).count();
}

}  // namespace muster::storm
