// Begins the TLS handshakes of HTTP connections, address by address, so that a flood of them holds up nobody else.
#pragma once

#include <memory>
#include <utility>

#include "base/ip_address.h"
#include "tls/handshake_queue.h"

namespace muster {

class HttpConnection;
class HttpThread;

// HTTP thread only. One handshake begins each time the thread has looked at all its sockets: a newcomer waits for one
// of each other address (fault 75), and connections that are up are served in between.
class HttpHandshakes {
public:
    explicit HttpHandshakes(std::shared_ptr<HttpThread> thread) : thread_(std::move(thread)) {}

    // Calls its begin_handshake() when it is the address's turn. Throws std::bad_alloc.
    void wait(const IpAddress& from, std::weak_ptr<HttpConnection> connection);

private:
    void post_next();
    void begin_next();

    const std::shared_ptr<HttpThread> thread_;
    HandshakeQueue<std::weak_ptr<HttpConnection>> queue_;
    bool posted_ = false;  // begin_next() will be called
};

}  // namespace muster
