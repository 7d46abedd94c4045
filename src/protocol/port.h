// The three game ports, who speaks on them, and in which byte order.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace muster {

// A message's number. It means something only together with a port and a direction.
using Code = std::uint16_t;

enum class Port : std::uint8_t { servers, matchmakers, players };
inline constexpr std::array ports{Port::servers, Port::matchmakers, Port::players};

// As in the config keys and the metric labels.
constexpr std::string_view to_string(Port port) {
    switch (port) {
        case Port::servers:
            return "servers";
        case Port::matchmakers:
            return "matchmakers";
        case Port::players:
            return "players";
    }
    return "";
}

// in: from the peer to Muster. out: from Muster to the peer.
enum class Direction : std::uint8_t { in, out };
inline constexpr std::array directions{Direction::in, Direction::out};

constexpr std::string_view to_string(Direction direction) {
    return direction == Direction::in ? "in" : "out";
}

enum class ByteOrder : std::uint8_t { little, big };
inline constexpr std::array byte_orders{ByteOrder::little, ByteOrder::big};

constexpr std::string_view to_string(ByteOrder order) {
    return order == ByteOrder::little ? "little" : "big";
}

// W-3. Only the player port's can be set to another.
constexpr ByteOrder default_byte_order(Port port) {
    return port == Port::players ? ByteOrder::big : ByteOrder::little;
}

// W-7: the largest `length` field taken from a peer, unless the config says otherwise.
constexpr std::uint16_t default_length_max(Port port) {
    return port == Port::matchmakers ? 65535 : 8192;
}

}  // namespace muster
