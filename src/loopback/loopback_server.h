// Many ports on loopback, each for one process of this machine, served by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>

#include "base/log.h"
#include "base/time.h"
#include "loopback/loopback_message.h"
#include "loopback/pace.h"

namespace muster {

struct LoopbackLimits {
    std::size_t connections = 16;  // of one port; the one that has been idle longest makes room
    std::size_t header_bytes = 8 * 1024;
    std::size_t body_bytes = 256 * 1024;                   // a heartbeat names every player
    Duration request_deadline = std::chrono::seconds(10);  // from its first byte
    Duration write_deadline = std::chrono::seconds(10);    // of an answer; a feed may wait
    Pace::Limits requests{};                               // of one port; beyond it, requests and streams wait
};

// The port cannot be opened: "cannot listen on loopback port 45001: address in use".
class LoopbackError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Closes its port and all connections of it when it goes; what was read before may still reach the handler then.
class LoopbackPort {
public:
    virtual ~LoopbackPort() = default;
    virtual std::uint16_t number() const = 0;
};

// Only processes of the agent's own user and of root get in; the kernel says whose a connection is. A flood on one
// port, peers that never read and requests that never end cost their own port and no other.
class LoopbackServer {
public:
    // The clock and the log outlive the server.
    LoopbackServer(const Clock& clock, Log& log, const LoopbackLimits& limits = {});
    // Ports that are still open are closed.
    ~LoopbackServer();
    LoopbackServer(const LoopbackServer&) = delete;
    LoopbackServer& operator=(const LoopbackServer&) = delete;

    // Listens on 127.0.0.1 and, where the machine has it, on ::1. Port 0 takes any that is free. Throws LoopbackError.
    // Any thread.
    std::unique_ptr<LoopbackPort> open_http(std::uint16_t port, std::shared_ptr<LoopbackHandler> handler);
    // The same for HTTP/2 that somebody else serves: `take` gets a socket for each connection, on the server's thread,
    // and owns it. What the peer sends gets there no faster than its streams' pace allows.
    std::unique_ptr<LoopbackPort> open_http2(std::uint16_t port, std::function<void(int fd)> take);

    // Runs `work` on the server's thread after that time.
    void after(Duration delay, std::function<void()> work);

private:
    class Thread;
    std::shared_ptr<Thread> thread_;
};

}  // namespace muster
