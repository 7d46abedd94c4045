// A port that is open to peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "net/file_descriptor.h"
#include "net/socket_address.h"
#include "protocol/port.h"

namespace muster {

// "cannot listen on 127.0.0.1:11032 (servers): Address already in use"
class ListenError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct AcceptedSocket {
    FileDescriptor socket;
    IpAddress from;
};

// Accepted sockets do not block, send without delay, and are probed by TCP's keepalive (fault 20): a peer that is gone
// is found within a minute. Any one thread at a time.
class Listener {
public:
    static constexpr int keepalive_idle_seconds = 30;
    static constexpr int keepalive_interval_seconds = 10;
    static constexpr int keepalive_probes = 3;

    // What the kernel may hold for one connection in each direction, so that links that are not read, by us or by the
    // peer, take a bounded share of the machine.
    static constexpr int kernel_buffer_bytes = 256 * 1024;

    // Binds and listens; TCP port 0 takes any free one, "::" takes IPv4 too. Throws ListenError.
    Listener(Port port, const SocketAddress& address) : Listener(to_string(port), address) { port_ = port; }
    // The same for a port that is not one of the game's.
    Listener(std::string_view name, const SocketAddress& address);

    Port port() const { return port_; }
    const SocketAddress& bound() const { return bound_; }
    int socket() const { return socket_.number(); }

    // none: nobody waits. gone: one who waited has left. exhausted: the machine has no file or memory for a newcomer,
    // who keeps waiting.
    enum class Outcome : std::uint8_t { accepted, none, gone, exhausted };
    Outcome accept(AcceptedSocket& into);

private:
    Port port_ = Port::servers;
    FileDescriptor socket_;
    SocketAddress bound_;
};

}  // namespace muster
