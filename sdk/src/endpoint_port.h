// The port of an endpoint that Muster names.
#pragma once

#include <cstdint>
#include <limits>

#include "protocol/game_endpoint.h"

namespace muster::sdk {

// Muster judged it at the handshake; a number that is no port becomes 0.
inline std::uint16_t port_of(const GameEndpoint& endpoint) {
    const bool fits = endpoint.port >= 0 && endpoint.port <= std::numeric_limits<std::uint16_t>::max();
    return fits ? static_cast<std::uint16_t>(endpoint.port) : std::uint16_t{0};
}

}  // namespace muster::sdk
