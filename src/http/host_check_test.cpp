#include "http/host_check.h"

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("fault 70: a Host is known when it is localhost, our address, or the one the connection came in on") {
    const IpAddress listening = IpAddress::parse("0.0.0.0").value();
    const IpAddress reached = IpAddress::parse("192.0.2.7").value();
    const auto known = [&](std::string_view host) { return host_is_known(host, listening, reached); };
    for (const char* good :
         {"localhost", "LocalHost:11030", "192.0.2.7", "192.0.2.7:11030", "192.0.2.7:", "0.0.0.0:80"})
        CHECK_MESSAGE(known(good), good);
    for (const char* bad :
         {"", ":80", "evil.example", "evil.example:11030", "localhost.evil.example", "192.0.2.8",
          "192.0.2.7.evil.example", "192.0.2.7:80:80", "192.0.2.7:x", "192.0.2.7:123456", "[192.0.2.7",
          "localhost@evil.example", "localhost:80@evil.example", "[::1]:80", "::1", "[", "[]", " localhost"})
        CHECK_FALSE_MESSAGE(known(bad), bad);
    CHECK_FALSE(known(std::string(10'000, 'a')));

    const IpAddress v6 = IpAddress::parse("::1").value();
    CHECK(host_is_known("[::1]:11030", v6, v6));
    CHECK(host_is_known("[0::1]", v6, v6));
    CHECK_FALSE(host_is_known("[::1]x", v6, v6));
    CHECK_FALSE(host_is_known("[::2]", v6, v6));
}
