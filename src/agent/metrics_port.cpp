#include "agent/metrics_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace muster {
namespace {

constexpr std::chrono::seconds deadline{2};
constexpr std::size_t head_bytes_max = 8 * 1024;

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;
};

SocketAddress socket_address(const ListenAddress& address) {
    SocketAddress out;
    const std::string host = address.host.to_string();
    if (address.host.is_v4()) {
        auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
        v4->sin_family = AF_INET;
        v4->sin_port = htons(address.port);
        inet_pton(AF_INET, host.c_str(), &v4->sin_addr);
        out.size = sizeof *v4;
    } else {
        auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(address.port);
        inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr);
        out.size = sizeof *v6;
    }
    return out;
}

std::string http_answer(std::string_view status, std::string_view body) {
    return fmt::format(
        "HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n"
        "Connection: close\r\n\r\n{}",
        status, body.size(), body);
}

}  // namespace

Result<std::unique_ptr<MetricsPort>, std::string> MetricsPort::open(const ListenAddress& address) {
    const SocketAddress where = socket_address(address);
    FileDescriptor listener(socket(where.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    if (listener) setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const auto* raw = reinterpret_cast<const sockaddr*>(&where.storage);
    if (!listener || bind(listener.number(), raw, where.size) != 0 || listen(listener.number(), 16) != 0)
        return Failure(fmt::format("{}: cannot be opened: {}", address.to_string(), std::strerror(errno)));
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    getsockname(listener.number(), reinterpret_cast<sockaddr*>(&bound), &size);
    const std::uint16_t port = bound.ss_family == AF_INET ? ntohs(reinterpret_cast<sockaddr_in*>(&bound)->sin_port)
                                                          : ntohs(reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port);
    return std::unique_ptr<MetricsPort>(new MetricsPort(std::move(listener), port));
}

MetricsPort::MetricsPort(FileDescriptor listener, std::uint16_t port)
    : listener_(std::move(listener)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      port_(port),
      thread_([this] { serve(); }) {}

MetricsPort::~MetricsPort() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t put = write(stop_.number(), &one, sizeof one);
    thread_.join();
}

void MetricsPort::publish(std::string text) {
    const std::lock_guard lock(mutex_);
    text_ = std::move(text);
}

void MetricsPort::serve() {
    for (;;) {
        std::array<pollfd, 2> waits{{{listener_.number(), POLLIN, 0}, {stop_.number(), POLLIN, 0}}};
        if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
        if (waits[1].revents != 0) return;
        const FileDescriptor peer(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (peer) answer(peer.number());
    }
}

void MetricsPort::answer(int peer) {
    const auto until = std::chrono::steady_clock::now() + deadline;
    // False when time is over, or the agent ends.
    const auto wait_for = [&](short events) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        std::array<pollfd, 2> waits{{{peer, events, 0}, {stop_.number(), POLLIN, 0}}};
        if (left.count() <= 0) return false;
        return poll(waits.data(), waits.size(), static_cast<int>(left.count())) > 0 && waits[1].revents == 0;
    };
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos && head.size() < head_bytes_max && wait_for(POLLIN)) {
        std::array<char, 2048> piece{};
        const ssize_t got = recv(peer, piece.data(), piece.size(), 0);
        if (got <= 0) return;
        head.append(piece.data(), static_cast<std::size_t>(got));
    }
    if (head.find("\r\n\r\n") == std::string::npos) return;
    const std::string_view line = std::string_view(head).substr(0, head.find("\r\n"));
    std::string out;
    if (line.starts_with("GET /metrics ") || line.starts_with("GET /metrics?")) {
        const std::lock_guard lock(mutex_);
        out = http_answer("200 OK", text_);
    } else {
        out = http_answer("404 Not Found", "only /metrics is here\n");
    }
    for (std::size_t sent = 0; sent < out.size() && wait_for(POLLOUT);) {
        const ssize_t put = send(peer, out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
        if (put <= 0) return;
        sent += static_cast<std::size_t>(put);
    }
    shutdown(peer, SHUT_WR);
}

}  // namespace muster
