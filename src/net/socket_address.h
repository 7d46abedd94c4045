// Where a socket listens or a peer sits: an address and a TCP port.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ip_address.h"

namespace muster {

struct SocketAddress {
    IpAddress ip;
    std::uint16_t port = 0;

    // "127.0.0.1:11032", "[::1]:11032"; the address a literal, the port 0 to 65535.
    static std::optional<SocketAddress> parse(std::string_view text);
    std::string to_string() const;

    // For the kernel, and back. Only for the internet families.
    socklen_t to_kernel(sockaddr_storage& out) const;
    static SocketAddress from_kernel(const sockaddr_storage& in);

    friend bool operator==(const SocketAddress&, const SocketAddress&) = default;
};

}  // namespace muster
