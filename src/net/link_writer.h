// Sends what the loop has for a connection, and keeps what the peer does not take yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "net/connection.h"
#include "net/worker_port.h"

namespace muster {

enum class WriteOutcome : std::uint8_t {
    sent,     // nothing is left
    waiting,  // the rest goes when the peer takes it
    full,     // more would be left than a peer may leave unread (fault 26)
    broken,   // the link takes no more bytes
};

// One send call at most. Throws std::bad_alloc when there is no memory for the rest; the link is then to be cut.
WriteOutcome write_to_link(Connection& link, WorkerPort& port, std::span<const std::byte> bytes);

// The socket takes bytes again: sends what waited. One send call at most.
WriteOutcome write_waiting(Connection& link, WorkerPort& port);

}  // namespace muster
