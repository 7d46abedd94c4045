// Where a port listens: an address of this machine and a port number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ip_address.h"

namespace muster {

// Digits only, 0 to 65535.
std::optional<std::uint16_t> parse_port(std::string_view text);

struct ListenAddress {
    IpAddress host;
    std::uint16_t port = 0;  // 0 takes any free one

    // "127.0.0.1:11032", "[::1]:11032" or "localhost:11032" (which is 127.0.0.1). No other names, no zones.
    static std::optional<ListenAddress> parse(std::string_view text);
    static ListenAddress loopback(std::uint16_t port);

    std::string to_string() const;

    friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

// True when both cannot be opened side by side.
bool collide(const ListenAddress& one, const ListenAddress& other);

}  // namespace muster
