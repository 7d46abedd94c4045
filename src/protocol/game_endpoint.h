// Where a game server takes its players, as it stands on the wire: always these two fields together.
#pragma once

#include <cstdint>

#include "protocol/text.h"

namespace muster {

// Any text and any number pass the decoder; what they must be is judged at the handshake (F-1).
struct GameEndpoint {
    IpText ip{};
    std::int32_t port = 0;

    static constexpr void layout(auto& self, auto& wire) {
        wire("ip", self.ip);
        wire("port", self.port);
    }
    bool operator==(const GameEndpoint&) const = default;
};

}  // namespace muster
