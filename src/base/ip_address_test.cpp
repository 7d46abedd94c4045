#include "base/ip_address.h"

#include <doctest/doctest.h>

using muster::IpAddress;

TEST_CASE("F-1: spellings of one address are equal, and shown in canonical form") {
    CHECK(IpAddress::parse("::ffff:10.0.0.1") == IpAddress::parse("10.0.0.1"));
    CHECK(IpAddress::parse("2001:DB8:0:0:0:0:0:1") == IpAddress::parse("2001:db8::1"));
    CHECK(IpAddress::parse("2001:DB8:0::1")->to_string() == "2001:db8::1");
    CHECK(IpAddress::parse("::ffff:10.0.0.1")->to_string() == "10.0.0.1");
    CHECK(IpAddress::parse("10.0.0.1") != IpAddress::parse("10.0.0.2"));
}

TEST_CASE("F-1: what is no literal is refused") {
    using namespace std::string_view_literals;
    for (const std::string_view text :
         {""sv, "localhost"sv, "fe80::1%eth0"sv, "fe80::1%2"sv, "10.0.0"sv, "10.0.0.256"sv, "010.0.0.1"sv,
          "10.0.0.1 "sv, "10.0.0.1:80"sv, "[::1]"sv, "10.0.0.1\0"sv, ":::"sv, "1::2::3"sv}) {
        CAPTURE(text);
        CHECK_FALSE(IpAddress::parse(text));
    }
    CHECK_FALSE(IpAddress::parse(std::string(5'000, '1')));
}

TEST_CASE("F-1: loopback, unspecified and multicast are known in both families") {
    CHECK(IpAddress::parse("127.8.9.1")->is_loopback());
    CHECK(IpAddress::parse("::1")->is_loopback());
    CHECK_FALSE(IpAddress::parse("::2")->is_loopback());
    CHECK_FALSE(IpAddress::parse("128.0.0.1")->is_loopback());
    CHECK(IpAddress::parse("0.0.0.0")->is_unspecified());
    CHECK(IpAddress::parse("::")->is_unspecified());
    CHECK_FALSE(IpAddress::parse("::1")->is_unspecified());
    CHECK(IpAddress::parse("224.0.0.1")->is_multicast());
    CHECK(IpAddress::parse("239.255.255.255")->is_multicast());
    CHECK(IpAddress::parse("ff02::1")->is_multicast());
    CHECK_FALSE(IpAddress::parse("223.255.255.255")->is_multicast());
}

TEST_CASE("fault 27: one machine is known by its IPv4 address or its IPv6 network") {
    const auto network = [](std::string_view text) { return IpAddress::parse(text)->network(); };
    CHECK(network("10.0.0.1") == *IpAddress::parse("10.0.0.1"));
    CHECK(network("::ffff:10.0.0.1") == *IpAddress::parse("10.0.0.1"));
    CHECK(network("2001:db8:1:2:3:4:5:6") == *IpAddress::parse("2001:db8:1:2::"));
}
