#include "net/socket_address.h"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

using muster::SocketAddress;

TEST_CASE("a socket address is read and shown, in both families") {
    for (const std::string text : {"127.0.0.1:11032", "0.0.0.0:0", "[::1]:65535", "[2001:db8::7]:1"}) {
        CAPTURE(text);
        const auto address = SocketAddress::parse(text);
        REQUIRE(address);
        CHECK(address->to_string() == text);
        sockaddr_storage kernel{};
        CHECK(address->to_kernel(kernel) > 0);
        CHECK(SocketAddress::from_kernel(kernel) == *address);
    }
}

TEST_CASE("what is no socket address is refused") {
    for (const std::string_view text :
         {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1: 1", "127.0.0.1:1x",
          "::1:80", "[::1]", "[::1]80", "[127.0.0.1]:80", "localhost:80", "[fe80::1%eth0]:80", ":80", "[]:80"}) {
        CAPTURE(text);
        CHECK_FALSE(SocketAddress::parse(text));
    }
}
