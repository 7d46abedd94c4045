// One frame from a peer, as the network hands it to whoever handles it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/time.h"
#include "protocol/port.h"

namespace muster {

struct PeerFrame {
    Code code = 0;
    std::span<const std::byte> payload;  // borrowed for the call
    Time received;                       // when it was read from the socket
    std::uint32_t rtt_us = 0;            // the kernel's round trip of the connection; 0 when it was not asked
};

}  // namespace muster
