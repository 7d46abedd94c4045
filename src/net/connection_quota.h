// How many connections there are, by port and by address, across all workers.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/ip_address.h"
#include "net/limits.h"
#include "net/link_fate.h"
#include "protocol/port.h"

namespace muster {

// An address counts for each port by itself, so that players cannot use up the servers' share of one machine
// (fault 27). IPv6 addresses count by their /64 network, since one machine has all of those.
//
// Any thread.
class ConnectionQuota {
public:
    // Counts one more, or says why not; a refusal changes nothing.
    std::optional<RefusalReason> take(Port port, const IpAddress& from, const PortLimits& limits);

    // Only for one that was taken.
    void give_back(Port port, const IpAddress& from);

private:
    struct OfPort {
        std::uint32_t connections = 0;
        std::unordered_map<IpAddress, std::uint32_t> by_network;
    };

    std::mutex mutex_;
    std::array<OfPort, ports.size()> by_port_;  // guarded by mutex_
};

}  // namespace muster
