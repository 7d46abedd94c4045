#include "net/listener.h"

#include <netinet/tcp.h>

#include <string>

#include <doctest/doctest.h>

#include "net/net_fixture.h"

using namespace muster;

namespace {

AcceptedSocket accept_one(Listener& listener) {
    AcceptedSocket accepted;
    for (int i = 0; i < 1'000; ++i) {
        const auto outcome = listener.accept(accepted);
        if (outcome == Listener::Outcome::accepted) return accepted;
        REQUIRE(outcome == Listener::Outcome::none);
        pollfd waited{listener.socket(), POLLIN, 0};
        poll(&waited, 1, 10);
    }
    FAIL("nobody came");
    return accepted;
}

int option_of(const AcceptedSocket& accepted, int level, int option) {
    int value = 0;
    socklen_t size = sizeof value;
    REQUIRE(getsockopt(accepted.socket.number(), level, option, &value, &size) == 0);
    return value;
}

}  // namespace

TEST_CASE("a listener on port 0 says where it is, on IPv4 and IPv6") {
    for (const std::string host : {"127.0.0.1", "[::1]"}) {
        CAPTURE(host);
        Listener listener(Port::players, *SocketAddress::parse(host + ":0"));
        CHECK(listener.bound().port != 0);
        const Peer peer(listener.bound());
        CHECK(accept_one(listener).from == listener.bound().ip);
    }
}

TEST_CASE("a listener on :: takes IPv4 too and knows its peers by their IPv4 address") {
    Listener listener(Port::players, *SocketAddress::parse("[::]:0"));
    const Peer peer({*IpAddress::parse("127.0.0.1"), listener.bound().port});
    CHECK(accept_one(listener).from == *IpAddress::parse("127.0.0.1"));
}

TEST_CASE("a port in use is named with its address and its role") {
    const Listener first(Port::servers, *SocketAddress::parse("127.0.0.1:0"));
    const std::string address = first.bound().to_string();
    CHECK_THROWS_WITH_AS(Listener(Port::matchmakers, first.bound()),
                         ("cannot listen on " + address + " (matchmakers): Address already in use").c_str(),
                         ListenError);
    CHECK_THROWS_AS(Listener(Port::servers, *SocketAddress::parse("192.0.2.1:0")), ListenError);
}

TEST_CASE(
    "fault 20: accepted sockets send without delay, are probed by keepalive, and hold a bounded share of memory") {
    Listener listener(Port::servers, *SocketAddress::parse("127.0.0.1:0"));
    const Peer peer(listener.bound());
    const AcceptedSocket accepted = accept_one(listener);
    CHECK(option_of(accepted, IPPROTO_TCP, TCP_NODELAY) != 0);
    CHECK(option_of(accepted, SOL_SOCKET, SO_KEEPALIVE) != 0);
    CHECK(option_of(accepted, IPPROTO_TCP, TCP_KEEPIDLE) == Listener::keepalive_idle_seconds);
    CHECK(option_of(accepted, IPPROTO_TCP, TCP_KEEPINTVL) == Listener::keepalive_interval_seconds);
    CHECK(option_of(accepted, IPPROTO_TCP, TCP_KEEPCNT) == Listener::keepalive_probes);
    CHECK(option_of(accepted, SOL_SOCKET, SO_SNDBUF) <= 2 * Listener::kernel_buffer_bytes);
    CHECK((fcntl(accepted.socket.number(), F_GETFL) & O_NONBLOCK) != 0);
    CHECK((fcntl(accepted.socket.number(), F_GETFD) & FD_CLOEXEC) != 0);
}
