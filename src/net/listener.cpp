#include "net/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include <fmt/core.h>

namespace muster {
namespace {

constexpr int backlog = 4096;

void set_option(int socket, int level, int option, int value) {
    if (setsockopt(socket, level, option, &value, sizeof value) != 0)
        throw std::system_error(errno, std::generic_category());
}

// What accepted sockets inherit from the listening one, without a system call for each.
void set_inherited_options(int socket) {
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, Listener::keepalive_idle_seconds);
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, Listener::keepalive_interval_seconds);
    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, Listener::keepalive_probes);
    set_option(socket, SOL_SOCKET, SO_RCVBUF, Listener::kernel_buffer_bytes);
    set_option(socket, SOL_SOCKET, SO_SNDBUF, Listener::kernel_buffer_bytes);
}

FileDescriptor listening_socket(const SocketAddress& address) {
    sockaddr_storage kernel{};
    const socklen_t size = address.to_kernel(kernel);
    FileDescriptor socket(::socket(kernel.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) throw std::system_error(errno, std::generic_category());
    set_option(socket.number(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (kernel.ss_family == AF_INET6)
        set_option(socket.number(), IPPROTO_IPV6, IPV6_V6ONLY, address.ip.is_unspecified() ? 0 : 1);
    set_inherited_options(socket.number());
    if (bind(socket.number(), reinterpret_cast<const sockaddr*>(&kernel), size) != 0 ||
        listen(socket.number(), backlog) != 0)
        throw std::system_error(errno, std::generic_category());
    return socket;
}

SocketAddress bound_address(int socket) {
    sockaddr_storage kernel{};
    socklen_t size = sizeof kernel;
    if (getsockname(socket, reinterpret_cast<sockaddr*>(&kernel), &size) != 0)
        throw std::system_error(errno, std::generic_category());
    return SocketAddress::from_kernel(kernel);
}

}  // namespace

Listener::Listener(std::string_view name, const SocketAddress& address) {
    try {
        socket_ = listening_socket(address);
        bound_ = bound_address(socket_.number());
    } catch (const std::system_error& error) {
        throw ListenError(
            fmt::format("cannot listen on {} ({}): {}", address.to_string(), name, error.code().message()));
    }
}

Listener::Outcome Listener::accept(AcceptedSocket& into) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    FileDescriptor socket(
        accept4(socket_.number(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
        into.socket = std::move(socket);
        into.from = SocketAddress::from_kernel(from).ip;
        return Outcome::accepted;
    }
    switch (errno) {
        case EAGAIN:
            return Outcome::none;
        case EMFILE:
        case ENFILE:
        case ENOBUFS:
        case ENOMEM:
            return Outcome::exhausted;
        default:
            // What is left are faults of that one newcomer's network (ECONNABORTED and its kin).
            return Outcome::gone;
    }
}

}  // namespace muster
