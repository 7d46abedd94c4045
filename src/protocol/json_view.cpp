#include "protocol/json_view.h"

#include <charconv>
#include <cmath>

namespace muster {

double shortest_double(float value) {
    if (!std::isfinite(value)) return static_cast<double>(value);
    char text[32];
    const auto written = std::to_chars(text, text + sizeof text, value);
    double shortest = 0;
    std::from_chars(text, written.ptr, shortest);
    return shortest;
}

}  // namespace muster
