// How many connections there are, by port and by address, across all workers, and who of the newcomers gets in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/ip_address.h"
#include "base/time.h"
#include "net/accept_refusal.h"
#include "net/limits.h"
#include "protocol/port.h"

namespace muster {

// An address counts for each port by itself, so that players cannot use up the servers' share of one machine
// (fault 27). IPv6 addresses count by their /64 network, since one machine has all of those.
//
// All connections together take no more than the open files that the process may have. Of these each port keeps an
// eighth that no other port can take, and one address gets five eighths at most, of all ports together: whatever one
// address does, others get in at every port (fault 33).
//
// Any thread.
class ConnectionQuota {
public:
    explicit ConnectionQuota(std::uint32_t total_max = no_limit) : total_max_(total_max) {}

    // Counts one more, or says why not; a refusal changes nothing but the newcomers of this second. `now` is in running
    // time and never goes back.
    std::optional<AcceptRefusal> take(Port port, const IpAddress& from, const PortLimits& limits, Time now);

    // Whether the address itself may have one more at that port, if there was room for it.
    bool may_have_more(Port port, const IpAddress& from, const PortLimits& limits) const;

    // Who was refused last for that reason; none when nobody was.
    std::optional<IpAddress> last_refused(Port port, AcceptRefusal why) const;

    // Only for one that was taken.
    void give_back(Port port, const IpAddress& from);

    // Of one that was taken: its TLS handshake is not over. That ends once: when it has proved who it is, or before it
    // is given back.
    void began_unproven(Port port, const IpAddress& from);
    void ended_unproven(Port port, const IpAddress& from);
    // How many of the address there are.
    std::size_t unproven_of(Port port, const IpAddress& from) const;

private:
    static constexpr std::uint32_t no_limit = 1U << 30;

    struct OfPort {
        std::uint32_t connections = 0;
        std::unordered_map<IpAddress, std::uint32_t> by_network;
        std::unordered_map<IpAddress, std::uint32_t> unproven;          // by network
        std::unordered_map<IpAddress, std::uint32_t> came_this_second;  // by network
        std::array<std::optional<IpAddress>, accept_refusals.size()> last_refused;
    };

    std::optional<AcceptRefusal> refusal_of(Port port, const IpAddress& network, const PortLimits& limits, Time now);
    bool comes_too_often(OfPort& port, const IpAddress& network, std::uint32_t per_second_max, Time now);
    bool others_need_the_rest(Port port) const;
    std::uint32_t connections_of(const IpAddress& network) const;

    const std::uint32_t total_max_;
    const std::uint32_t port_keeps_ = total_max_ / 8;
    const std::uint32_t address_max_ = total_max_ - 3 * port_keeps_;
    mutable std::mutex mutex_;
    // Guarded by mutex_.
    std::array<OfPort, ports.size()> by_port_;
    Time second_began_{};
};

}  // namespace muster
