#include "http/http_quota.h"

#include <doctest/doctest.h>

using namespace muster;

namespace {

IpAddress address(std::string_view text) {
    return *IpAddress::parse(text);
}

}  // namespace

TEST_CASE("S-7: an address has room up to its limit, others still do, and all together up to theirs") {
    HttpQuota quota({5, 2});
    const IpAddress one = address("192.0.2.1");
    quota.take(one);
    CHECK_FALSE(quota.refusal(one));
    quota.take(one);
    CHECK(quota.refusal(one) == HttpRefusal::per_ip);
    CHECK_FALSE(quota.refusal(address("192.0.2.2")));
    CHECK_FALSE(quota.under_pressure());
    quota.take(address("192.0.2.2"));
    CHECK(quota.under_pressure());
    quota.take(address("192.0.2.3"));
    quota.take(address("192.0.2.4"));
    CHECK(quota.refusal(address("192.0.2.5")) == HttpRefusal::per_port);
    CHECK(quota.refusal(one) == HttpRefusal::per_ip);
    quota.give_back(one);
    CHECK_FALSE(quota.refusal(one));
}

TEST_CASE("S-7: an address comes so often in a second, and others as often") {
    HttpQuota quota({5, 2, 3});
    const std::chrono::steady_clock::time_point now{std::chrono::hours(1)};
    const IpAddress one = address("192.0.2.1");
    for (int i = 0; i < 3; ++i) CHECK_FALSE(quota.comes_too_often(one, now));
    CHECK(quota.comes_too_often(one, now));
    CHECK(quota.comes_too_often(one, now + std::chrono::milliseconds(999)));
    CHECK_FALSE(quota.comes_too_often(address("192.0.2.2"), now));
    CHECK_FALSE(quota.comes_too_often(one, now + std::chrono::seconds(1)));
    quota.set_limits({5, 2, 0});
    for (int i = 0; i < 10; ++i) CHECK_FALSE(quota.comes_too_often(one, now + std::chrono::seconds(1)));
}

TEST_CASE("S-7: the addresses of one IPv6 network count together") {
    HttpQuota quota({10, 2});
    quota.take(address("2001:db8::1"));
    quota.take(address("2001:db8::2"));
    CHECK(quota.refusal(address("2001:db8::3")) == HttpRefusal::per_ip);
    CHECK_FALSE(quota.refusal(address("2001:db8:0:1::1")));
}

TEST_CASE("S-7: lowered limits hold for newcomers") {
    HttpQuota quota({10, 5});
    quota.take(address("192.0.2.1"));
    quota.take(address("192.0.2.1"));
    quota.set_limits({10, 1});
    CHECK(quota.refusal(address("192.0.2.1")) == HttpRefusal::per_ip);
    quota.give_back(address("192.0.2.1"));
    quota.give_back(address("192.0.2.1"));
    CHECK_FALSE(quota.refusal(address("192.0.2.1")));
}
