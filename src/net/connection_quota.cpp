#include "net/connection_quota.h"

#include <algorithm>

#include "base/check.h"

namespace muster {
namespace {

IpAddress network_of(const IpAddress& address) {
    if (address.is_v4()) return address;
    auto bytes = address.bytes();
    std::fill(bytes.begin() + 8, bytes.end(), std::uint8_t{0});
    return IpAddress::v6(bytes);
}

}  // namespace

std::optional<RefusalReason> ConnectionQuota::take(Port port, const IpAddress& from, const PortLimits& limits) {
    const std::lock_guard lock(mutex_);
    OfPort& all = by_port_[static_cast<std::size_t>(port)];
    if (all.connections >= limits.connections_max) return RefusalReason::per_port;
    const auto [place, is_new] = all.by_network.try_emplace(network_of(from), 0);
    if (place->second >= limits.connections_per_ip) {
        if (is_new) all.by_network.erase(place);
        return RefusalReason::per_ip;
    }
    ++place->second;
    ++all.connections;
    return std::nullopt;
}

void ConnectionQuota::give_back(Port port, const IpAddress& from) {
    const std::lock_guard lock(mutex_);
    OfPort& all = by_port_[static_cast<std::size_t>(port)];
    const auto place = all.by_network.find(network_of(from));
    MUSTER_CHECK(place != all.by_network.end(), "a connection is given back once");
    if (--place->second == 0) all.by_network.erase(place);
    --all.connections;
}

}  // namespace muster
