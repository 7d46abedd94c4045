#include "net/unproven_links.h"

#include <new>

namespace muster {

UnprovenLinks::UnprovenLinks(ConnectionTable& table, ConnectionQuota& quota) : table_(table), quota_(quota) {
    by_port_.reserve(ports.size());
    for (const Port port : ports)
        by_port_.emplace_back([this, port](const IpAddress& network) { return quota_.unproven_of(port, network); });
}

Connection* UnprovenLinks::giving_way_to(const IpAddress& newcomer, const WorkerPort& worker_port, AcceptRefusal why,
                                         Time now) {
    const bool is_full = why == AcceptRefusal::per_port || why == AcceptRefusal::descriptors;
    if (!worker_port.tls || !is_full) return nullptr;
    if (!quota_.may_have_more(worker_port.port, newcomer, worker_port.limits())) return nullptr;
    try {
        return next_for(newcomer, worker_port.port, now);
    } catch (const std::bad_alloc&) {
        by_port_[static_cast<std::size_t>(worker_port.port)].begin();
        return nullptr;
    }
}

Connection* UnprovenLinks::next_for(const IpAddress& newcomer, Port port, Time now) {
    auto& list = by_port_[static_cast<std::size_t>(port)];
    if (list.is_stale(now)) {
        list.begin();
        table_.for_each([&](const Connection& link) {
            if (link.port == port && !is_told(link.stage())) list.add(link.from, link.id);
        });
        list.end_list(now);
    }
    while (const auto id = list.next_for(newcomer)) {
        Connection* link = table_.find(*id);
        if (!link || is_told(link->stage())) continue;
        list.let_in(newcomer);
        return link;
    }
    return nullptr;
}

}  // namespace muster
