// Who has a port: the sockets that /proc/net lists, and the processes that hold them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>

namespace muster {

// One that listens (TCP) or is bound (UDP).
struct BoundSocket {
    std::uint64_t inode = 0;  // names it among the descriptors of a process
    std::uint32_t user = 0;   // who made it
    bool operator==(const BoundSocket&) const = default;
};
using BoundSockets = std::multimap<std::uint16_t, BoundSocket>;  // by local port

// Over IPv4 and IPv6, in our network namespace.
BoundSockets bound_sockets();
// Adds those of a table such as /proc/net/tcp; of TCP only those that listen.
void add_bound_sockets(std::string_view table, bool tcp, BoundSockets& sockets);

// Whether the process holds a socket of that port. When its descriptors are hidden from us, as those of a program with
// capabilities or another user's are, whether its user has made one.
bool has_bound(std::int32_t pid, std::uint16_t port, const BoundSockets& sockets);

}  // namespace muster
