#include "net/connection_quota.h"

#include "base/check.h"

namespace muster {

std::optional<AcceptRefusal> ConnectionQuota::take(Port port, const IpAddress& from, const PortLimits& limits,
                                                   Time now) {
    const std::lock_guard lock(mutex_);
    OfPort& all = by_port_[static_cast<std::size_t>(port)];
    const IpAddress network = from.network();
    const auto refusal = refusal_of(port, network, limits, now);
    if (refusal) {
        all.last_refused[static_cast<std::size_t>(*refusal)] = from;
        return refusal;
    }
    ++all.by_network[network];
    ++all.connections;
    return std::nullopt;
}

std::optional<IpAddress> ConnectionQuota::last_refused(Port port, AcceptRefusal why) const {
    const std::lock_guard lock(mutex_);
    return by_port_[static_cast<std::size_t>(port)].last_refused[static_cast<std::size_t>(why)];
}

std::optional<AcceptRefusal> ConnectionQuota::refusal_of(Port port, const IpAddress& network, const PortLimits& limits,
                                                         Time now) {
    OfPort& all = by_port_[static_cast<std::size_t>(port)];
    if (comes_too_often(all, network, limits.accepts_per_second_ip, now)) return AcceptRefusal::accept_rate;
    if (all.connections >= limits.connections_max) return AcceptRefusal::per_port;
    if (others_need_the_rest(port) || connections_of(network) >= address_max_) return AcceptRefusal::descriptors;
    const auto place = all.by_network.find(network);
    if ((place == all.by_network.end() ? 0 : place->second) >= limits.connections_per_ip) return AcceptRefusal::per_ip;
    return std::nullopt;
}

bool ConnectionQuota::may_have_more(Port port, const IpAddress& from, const PortLimits& limits) const {
    const std::lock_guard lock(mutex_);
    const IpAddress network = from.network();
    const auto& by_network = by_port_[static_cast<std::size_t>(port)].by_network;
    const auto place = by_network.find(network);
    return connections_of(network) < address_max_ &&
           (place == by_network.end() || place->second < limits.connections_per_ip);
}

// Seconds are counted one by one, so that nothing is kept of an address that stays away.
bool ConnectionQuota::comes_too_often(OfPort& port, const IpAddress& network, std::uint32_t per_second_max, Time now) {
    if (per_second_max == 0) return false;
    if (now - second_began_ >= std::chrono::seconds(1)) {
        second_began_ = now;
        for (OfPort& each : by_port_) each.came_this_second.clear();
    }
    std::uint32_t& came = port.came_this_second[network];
    if (came >= per_second_max) return true;
    ++came;
    return false;
}

bool ConnectionQuota::others_need_the_rest(Port port) const {
    std::uint32_t used_or_kept = 0;
    for (const Port each : ports) {
        const std::uint32_t connections = by_port_[static_cast<std::size_t>(each)].connections;
        used_or_kept += each == port ? connections : std::max(connections, port_keeps_);
    }
    return used_or_kept >= total_max_;
}

std::uint32_t ConnectionQuota::connections_of(const IpAddress& network) const {
    std::uint32_t sum = 0;
    for (const OfPort& port : by_port_) {
        const auto place = port.by_network.find(network);
        if (place != port.by_network.end()) sum += place->second;
    }
    return sum;
}

void ConnectionQuota::give_back(Port port, const IpAddress& from) {
    const std::lock_guard lock(mutex_);
    OfPort& all = by_port_[static_cast<std::size_t>(port)];
    const auto place = all.by_network.find(from.network());
    MUSTER_CHECK(place != all.by_network.end(), "a connection is given back once");
    if (--place->second == 0) all.by_network.erase(place);
    --all.connections;
}

void ConnectionQuota::began_unproven(Port port, const IpAddress& from) {
    const std::lock_guard lock(mutex_);
    ++by_port_[static_cast<std::size_t>(port)].unproven[from.network()];
}

void ConnectionQuota::ended_unproven(Port port, const IpAddress& from) {
    const std::lock_guard lock(mutex_);
    auto& unproven = by_port_[static_cast<std::size_t>(port)].unproven;
    const auto place = unproven.find(from.network());
    MUSTER_CHECK(place != unproven.end(), "a handshake that began ends once");
    if (--place->second == 0) unproven.erase(place);
}

std::size_t ConnectionQuota::unproven_of(Port port, const IpAddress& from) const {
    const std::lock_guard lock(mutex_);
    const auto& unproven = by_port_[static_cast<std::size_t>(port)].unproven;
    const auto place = unproven.find(from.network());
    return place == unproven.end() ? 0 : place->second;
}

}  // namespace muster
