// What a relay does to peers: net's links in the daemon.
#pragma once

#include <cstddef>
#include <span>

#include "base/ids.h"
#include "protocol/port.h"

namespace muster {

class PeerOutput {
public:
    virtual ~PeerOutput() = default;

    virtual void send(ConnectionId to, std::span<const std::byte> frame) = 0;
    virtual void greeted(ConnectionId link) = 0;
    virtual void report_drained(ConnectionId link) = 0;
    // Once what was sent before has left.
    virtual void close(ConnectionId link) = 0;
    virtual void cut(ConnectionId link) = 0;
    virtual ByteOrder order_of(Port port) const = 0;
};

}  // namespace muster
