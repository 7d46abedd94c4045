// What the players' side counts (P-8, P-9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "base/histogram.h"

namespace muster {

struct PlayerFigures {
    std::size_t connected = 0;
    std::size_t in_grace = 0;
    std::size_t idle = 0;  // of the connected
    std::uint64_t logins = 0;
    std::uint64_t resumes = 0;
    std::map<std::string_view, std::uint64_t> refusals;  // logins, by the refusal's label
    std::map<std::string_view, std::uint64_t> closes;    // sessions, by the reason's label
    Histogram rtt_seconds{{0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2.5}};
    Histogram session_seconds{{10, 60, 300, 900, 1800, 3600, 7200, 14400, 43200, 86400}};
};

}  // namespace muster
