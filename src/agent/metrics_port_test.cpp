#include "agent/metrics_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <string>

#include <doctest/doctest.h>

namespace muster {
namespace {

FileDescriptor connect_to(std::uint16_t port) {
    FileDescriptor peer(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(connect(peer.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return peer;
}

// All that comes back, until the other side closes.
std::string ask(std::uint16_t port, const std::string& text) {
    const FileDescriptor peer = connect_to(port);
    REQUIRE(send(peer.number(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
    std::string all;
    std::array<char, 4096> piece{};
    for (;;) {
        const ssize_t got = recv(peer.number(), piece.data(), piece.size(), 0);
        if (got <= 0) return all;
        all.append(piece.data(), static_cast<std::size_t>(got));
    }
}

TEST_CASE("G-12: metrics are served at their path, whole, and nothing else is") {
    const auto port = MetricsPort::open(ListenAddress::loopback(0));
    REQUIRE(port);
    const std::string large(300'000, 'x');
    (*port)->publish("a 1\n" + large);
    const std::string answer = ask((*port)->port(), "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
    CHECK(answer.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(answer.ends_with("\r\n\r\na 1\n" + large));
    CHECK(ask((*port)->port(), "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    CHECK(ask((*port)->port(), "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    CHECK(ask((*port)->port(), std::string(9000, 'a')).empty());
    (*port)->publish("b 2\n");
    CHECK(ask((*port)->port(), "GET /metrics HTTP/1.0\r\n\r\n").ends_with("\r\n\r\nb 2\n"));
}

TEST_CASE("G-11: an address that is taken is told") {
    const auto first = MetricsPort::open(ListenAddress::loopback(0));
    REQUIRE(first);
    const auto second = MetricsPort::open(ListenAddress::loopback((*first)->port()));
    REQUIRE_FALSE(second);
    CHECK(second.error().find("cannot be opened") != std::string::npos);
}

}  // namespace
}  // namespace muster
