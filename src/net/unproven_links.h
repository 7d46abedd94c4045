// Which links of a worker have not finished their TLS handshake, and which of them gives way to a newcomer.
#pragma once

#include <vector>

#include "base/ip_address.h"
#include "base/time.h"
#include "net/accept_refusal.h"
#include "net/connection.h"
#include "net/connection_quota.h"
#include "net/connection_table.h"
#include "net/worker_port.h"
#include "tls/giving_way.h"

namespace muster {

// The worker's thread only. What it is given outlives it.
class UnprovenLinks {
public:
    UnprovenLinks(ConnectionTable& table, ConnectionQuota& quota);

    // Each link that is not told to the loop begins once, and ends when it has proved who its peer is, or is removed.
    void began(const Connection& link) { quota_.began_unproven(link.port, link.from); }
    void ended(const Connection& link) { quota_.ended_unproven(link.port, link.from); }

    // A newcomer from there was refused by the quota: the link that gives way to it, and is to be cut. Null when none
    // does.
    Connection* giving_way_to(const IpAddress& newcomer, const WorkerPort& worker_port, AcceptRefusal why, Time now);

private:
    Connection* next_for(const IpAddress& newcomer, Port port, Time now);

    ConnectionTable& table_;
    ConnectionQuota& quota_;
    std::vector<GivingWay<ConnectionId>> by_port_;
};

}  // namespace muster
