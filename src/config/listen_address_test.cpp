#include "config/listen_address.h"

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("X-1: a listen address is an IP literal and a port, IPv6 in brackets") {
    const auto text = [](std::string_view given) {
        const auto address = ListenAddress::parse(given);
        return address ? address->to_string() : "refused";
    };
    CHECK(text("127.0.0.1:11032") == "127.0.0.1:11032");
    CHECK(text("0.0.0.0:0") == "0.0.0.0:0");
    CHECK(text("[::1]:65535") == "[::1]:65535");
    CHECK(text("[::]:1") == "[::]:1");
    CHECK(text("[0:0::1]:1") == "[::1]:1");
    CHECK(text("localhost:80") == "127.0.0.1:80");
    for (const char* bad : {"", ":", "11032", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                            "127.0.0.1:+1", "127.0.0.1: 1", "[127.0.0.1]:1", "::1:80", "[::1]", "[]:1", "[::1:80",
                            "example.com:80", "[fe80::1%eth0]:80", "127.1:80", "256.0.0.1:80", "*:80"})
        CHECK_MESSAGE(text(bad) == "refused", bad);
}

TEST_CASE("two listeners collide on one port of one address, or of all addresses") {
    const auto at = [](std::string_view text) { return ListenAddress::parse(text).value(); };
    CHECK(collide(at("127.0.0.1:80"), at("127.0.0.1:80")));
    CHECK(collide(at("0.0.0.0:80"), at("127.0.0.1:80")));
    CHECK(collide(at("127.0.0.1:80"), at("[::]:80")));
    CHECK_FALSE(collide(at("127.0.0.1:80"), at("127.0.0.1:81")));
    CHECK_FALSE(collide(at("127.0.0.1:80"), at("127.0.0.2:80")));
    CHECK_FALSE(collide(at("127.0.0.1:0"), at("127.0.0.1:0")));
}
