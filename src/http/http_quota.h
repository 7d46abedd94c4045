// How many HTTP connections there are, in all and by address (S-7).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/ip_address.h"

namespace muster {

// Which limit a newcomer met.
enum class HttpRefusal : std::uint8_t { per_ip, per_port };

// HTTP thread only. IPv6 addresses count by their /64 network.
class HttpQuota {
public:
    struct Limits {
        std::size_t connections = 1024;
        std::size_t connections_ip = 64;
        std::size_t accepts_per_second_ip = 0;  // of newcomers that want a TLS handshake; 0: as many as come
    };

    explicit HttpQuota(const Limits& limits) : limits_(limits) {}
    const Limits& limits() const { return limits_; }
    // Open connections stay, even above the new limits.
    void set_limits(const Limits& limits) { limits_ = limits; }

    // None when there is room for one more from that address. The address's own limit is checked first.
    std::optional<HttpRefusal> refusal(const IpAddress& from) const;

    // One more newcomer of that address, and whether it is one too many for this second.
    bool comes_too_often(const IpAddress& from, std::chrono::steady_clock::time_point now);

    void take(const IpAddress& from);
    // Only for one that was taken.
    void give_back(const IpAddress& from);

    // Over half of all connections are in use: idle ones are closed sooner.
    bool under_pressure() const { return connections_ > limits_.connections / 2; }

private:
    Limits limits_;
    std::size_t connections_ = 0;
    std::unordered_map<IpAddress, std::size_t> by_network_;
    std::chrono::steady_clock::time_point second_began_;
    std::unordered_map<IpAddress, std::size_t> came_this_second_;  // by network
};

}  // namespace muster
