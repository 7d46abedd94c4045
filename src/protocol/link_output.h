// What core does to connections. Net's links implement it, and so do the simulator and the tests.
#pragma once

#include <cstddef>
#include <span>

#include "base/ids.h"

namespace muster {

// Game thread only. A connection that is gone is no error: what is meant for it is dropped.
class LinkOutput {
public:
    virtual ~LinkOutput() = default;

    // A whole frame, which leaves at the end of the pass.
    virtual void send(ConnectionId to, std::span<const std::byte> frame) = 0;
    // The same for news that nobody asked for: it may wait a moment for others on that link. Order is kept.
    virtual void send_soon(ConnectionId to, std::span<const std::byte> frame) { send(to, frame); }
    // The same frame to many.
    virtual void send_to_all(std::span<const ConnectionId> to, std::span<const std::byte> frame) {
        for (const ConnectionId each : to) send(each, frame);
    }
    // Core::drained() is called once, when all that was sent before has left this process.
    virtual void report_drained(ConnectionId link) = 0;
    // The peer has shaken hands or logged in: its handshake deadline is over.
    virtual void greeted(ConnectionId link) = 0;
    // Closes once what was sent before has left. Its closing is still told by Core::closed().
    virtual void close(ConnectionId link) = 0;
};

}  // namespace muster
