// Why the network gives up on a connection whose bytes are well formed.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace muster {

enum class LinkFault : std::uint8_t {
    handshake_deadline,  // it did not shake hands or log in in time (fault 23)
    frame_deadline,      // a frame took too long from its first byte to its last (fault 23)
    flooded,             // it sent too fast for too long (fault 25)
};
inline constexpr std::array link_faults{LinkFault::handshake_deadline, LinkFault::frame_deadline, LinkFault::flooded};

constexpr std::string_view to_string(LinkFault fault) {
    switch (fault) {
        case LinkFault::handshake_deadline:
            return "handshake_deadline";
        case LinkFault::frame_deadline:
            return "frame_deadline";
        case LinkFault::flooded:
            return "flooded";
    }
    return "";
}

}  // namespace muster
