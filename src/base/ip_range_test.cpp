#include "base/ip_range.h"

#include <doctest/doctest.h>

using namespace muster;

namespace {

bool in(std::string_view range, std::string_view address) {
    return IpRange::parse(range).value().contains(IpAddress::parse(address).value());
}

}  // namespace

TEST_CASE("S-6: a range holds its first and its last address, and neither neighbour") {
    CHECK(in("203.0.113.0/24", "203.0.113.0"));
    CHECK(in("203.0.113.0/24", "203.0.113.255"));
    CHECK_FALSE(in("203.0.113.0/24", "203.0.112.255"));
    CHECK_FALSE(in("203.0.113.0/24", "203.0.114.0"));
    CHECK(in("10.0.0.4/30", "10.0.0.7"));
    CHECK_FALSE(in("10.0.0.4/30", "10.0.0.8"));
    CHECK(in("2001:db8::/33", "2001:db8:7fff::1"));
    CHECK_FALSE(in("2001:db8::/33", "2001:db8:8000::1"));
    CHECK(in("10.0.0.4", "10.0.0.4"));
    CHECK_FALSE(in("10.0.0.4", "10.0.0.5"));
}

TEST_CASE("S-6: all of IPv4 is nothing of IPv6, and an IPv4 address mapped into IPv6 is that IPv4 address") {
    CHECK(in("0.0.0.0/0", "8.8.8.8"));
    CHECK_FALSE(in("0.0.0.0/0", "::1"));
    CHECK(in("::/0", "2001:db8::1"));
    CHECK_FALSE(in("::/0", "8.8.8.8"));
    CHECK(in("10.0.0.0/8", "::ffff:10.1.2.3"));
}

TEST_CASE("S-6: what is no range is refused, a length too long and bits beyond the length too") {
    for (const char* text : {"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0.0/ 8",
                             "10.0.0.1/24", "::/129", "2001:db8::1/64", "muster.example", "10.0.0.0/8/8"}) {
        CAPTURE(text);
        CHECK_FALSE(IpRange::parse(text).has_value());
    }
}

TEST_CASE("S-6: a range is printed as it is read") {
    for (const char* text : {"203.0.113.0/24", "10.0.0.4", "0.0.0.0/0", "2001:db8::/32", "::1", "::/0"}) {
        CAPTURE(text);
        CHECK(IpRange::parse(text).value().to_string() == text);
    }
    CHECK(IpRange::parse("10.0.0.4/32").value().to_string() == "10.0.0.4");
    CHECK(IpRange::parse("::ffff:10.0.0.4").value().to_string() == "10.0.0.4");
}
