#include "raw_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include <unistd.h>

namespace muster::storm {

RawSocket::RawSocket(std::uint32_t from, std::uint16_t port) {
    if (port == 0) return;
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket_ < 0) return;
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    const linger reset{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(from);
    const bool bound = ::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const bool began = bound && (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ||
                                 errno == EINPROGRESS);
    if (!began) this->reset();
}

RawSocket::RawSocket(RawSocket&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

RawSocket& RawSocket::operator=(RawSocket&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
}

std::size_t RawSocket::send(std::span<const std::byte> bytes) {
    if (!open()) return 0;
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != ENOTCONN) reset();
    return sent > 0 ? static_cast<std::size_t>(sent) : 0;
}

std::size_t RawSocket::send(std::string_view text) {
    return send(std::as_bytes(std::span(text)));
}

std::string RawSocket::receive() {
    std::array<char, 64 * 1024> bytes;
    if (!open()) return {};
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != ENOTCONN)) reset();
    return got > 0 ? std::string(bytes.data(), static_cast<std::size_t>(got)) : std::string();
}

void RawSocket::read_slowly() {
    const int least = 1;
    if (open()) ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
}

void RawSocket::reset() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
}

}  // namespace muster::storm
