// What a peer may ask of the network (W-7).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "protocol/port.h"

namespace muster {

// Of one port. Can be changed while the network runs; open connections feel it from the worker's next turn, deadlines
// that already run keep their time.
struct PortLimits {
    // The largest length field taken from a peer.
    std::uint16_t length_max = 8192;
    // From accept until the loop called the link greeted.
    Duration handshake_deadline = std::chrono::seconds(10);
    // From a frame's first byte to its last.
    Duration frame_deadline = std::chrono::seconds(10);
    std::uint32_t connections_per_ip = 1024;
    std::uint32_t connections_max = 100'000;
    // Newcomers from one address. 0 sets no limit.
    std::uint32_t accepts_per_second_ip = 200;
    // Of one connection, with a burst of one second's worth. 0 sets no limit.
    std::uint32_t messages_per_second = 2000;
    // How long a connection may stay over that rate.
    Duration flood_close_after = std::chrono::seconds(10);
    // What a connection may leave unread of ours, beyond what the kernel holds for it.
    std::size_t unsent_bytes_max = std::size_t{256} * 1024;
};

// As in the config's [limits] without a file.
constexpr PortLimits default_limits(Port port) {
    PortLimits limits;
    limits.length_max = default_length_max(port);
    if (port == Port::matchmakers) limits.messages_per_second = 20'000;
    if (port == Port::players) limits.messages_per_second = 200;
    return limits;
}

// Memory for the bytes of all connections of all ports.
inline constexpr std::size_t default_total_buffers = std::size_t{1} << 30;

}  // namespace muster
