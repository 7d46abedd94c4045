#include "net/connection_quota.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

namespace {

IpAddress ip(const char* text) {
    return *IpAddress::parse(text);
}

PortLimits at_most(std::uint32_t per_ip, std::uint32_t per_port) {
    PortLimits limits;
    limits.connections_per_ip = per_ip;
    limits.connections_max = per_port;
    return limits;
}

}  // namespace

TEST_CASE("W-7, fault 27: an address gets its number of connections and no more") {
    ConnectionQuota quota;
    const PortLimits limits = at_most(2, 100);
    CHECK_FALSE(quota.take(Port::players, ip("10.0.0.1"), limits, Time{}));
    CHECK_FALSE(quota.take(Port::players, ip("10.0.0.1"), limits, Time{}));
    CHECK(quota.take(Port::players, ip("10.0.0.1"), limits, Time{}) == AcceptRefusal::per_ip);
    CHECK(quota.take(Port::players, ip("::ffff:10.0.0.1"), limits, Time{}) == AcceptRefusal::per_ip);
    CHECK_FALSE(quota.take(Port::players, ip("10.0.0.2"), limits, Time{}));
    quota.give_back(Port::players, ip("10.0.0.1"));
    CHECK_FALSE(quota.take(Port::players, ip("10.0.0.1"), limits, Time{}));
}

TEST_CASE("W-7, fault 27: players that use up an address leave its servers their share") {
    ConnectionQuota quota;
    const PortLimits limits = at_most(1, 100);
    CHECK_FALSE(quota.take(Port::players, ip("10.0.0.1"), limits, Time{}));
    CHECK(quota.take(Port::players, ip("10.0.0.1"), limits, Time{}));
    CHECK_FALSE(quota.take(Port::servers, ip("10.0.0.1"), limits, Time{}));
}

TEST_CASE("W-7, fault 27: a port gets its number of connections and no more") {
    ConnectionQuota quota;
    const PortLimits limits = at_most(10, 2);
    CHECK_FALSE(quota.take(Port::matchmakers, ip("10.0.0.1"), limits, Time{}));
    CHECK_FALSE(quota.take(Port::matchmakers, ip("10.0.0.2"), limits, Time{}));
    CHECK(quota.take(Port::matchmakers, ip("10.0.0.3"), limits, Time{}) == AcceptRefusal::per_port);
    quota.give_back(Port::matchmakers, ip("10.0.0.2"));
    CHECK_FALSE(quota.take(Port::matchmakers, ip("10.0.0.3"), limits, Time{}));
}

TEST_CASE("fault 27: an IPv6 network of one machine counts as one address") {
    ConnectionQuota quota;
    const PortLimits limits = at_most(1, 100);
    CHECK_FALSE(quota.take(Port::players, ip("2001:db8:0:1::1"), limits, Time{}));
    CHECK(quota.take(Port::players, ip("2001:db8:0:1:ffff::2"), limits, Time{}) == AcceptRefusal::per_ip);
    CHECK_FALSE(quota.take(Port::players, ip("2001:db8:0:2::1"), limits, Time{}));
}

TEST_CASE("W-7: a limit of zero lets nobody in") {
    ConnectionQuota quota;
    CHECK(quota.take(Port::players, ip("10.0.0.1"), at_most(0, 100), Time{}) == AcceptRefusal::per_ip);
    CHECK(quota.take(Port::players, ip("10.0.0.1"), at_most(10, 0), Time{}) == AcceptRefusal::per_port);
}

TEST_CASE("S-7: an address gets so many newcomers in a second at each port, and is let in again in the next") {
    ConnectionQuota quota;
    PortLimits limits;
    limits.accepts_per_second_ip = 3;
    const Time start = Time{} + 5s;
    for (int second = 0; second < 3; ++second) {
        const Time now = start + std::chrono::seconds(second);
        for (int i = 0; i < 3; ++i) {
            CHECK_FALSE(quota.take(Port::players, ip("10.0.0.1"), limits, now));
            quota.give_back(Port::players, ip("10.0.0.1"));
        }
        CHECK(quota.take(Port::players, ip("10.0.0.1"), limits, now) == AcceptRefusal::accept_rate);
        CHECK(quota.take(Port::players, ip("10.0.0.1"), limits, now + 999ms) == AcceptRefusal::accept_rate);
        CHECK_FALSE(quota.take(Port::players, ip("10.0.0.2"), limits, now));
        CHECK_FALSE(quota.take(Port::servers, ip("10.0.0.1"), limits, now));
    }
}

TEST_CASE("S-7, fault 33: whatever one address takes, others get in at every port") {
    for (const Port first : ports) {
        ConnectionQuota quota(80);
        PortLimits limits;
        limits.accepts_per_second_ip = 0;
        std::size_t taken = 0;
        const auto take_all = [&](Port port) {
            while (!quota.take(port, ip("10.0.0.1"), limits, Time{})) ++taken;
        };
        take_all(first);
        for (const Port port : ports) take_all(port);
        CHECK(taken == 50);
        CHECK(quota.take(first, ip("10.0.0.1"), limits, Time{}) == AcceptRefusal::descriptors);
        for (const Port port : ports) {
            for (int i = 0; i < 10; ++i) CHECK_FALSE(quota.take(port, ip("10.0.0.2"), limits, Time{}));
        }
    }
}

TEST_CASE("S-7, fault 33: many addresses leave every other port its share") {
    for (const Port greedy : ports) {
        ConnectionQuota quota(80);
        PortLimits limits;
        limits.accepts_per_second_ip = 0;
        std::uint8_t next = 0;
        const auto newcomer = [&](Port port) {
            return quota.take(port, IpAddress::v4({10, 0, 0, next++}), limits, Time{});
        };
        for (int i = 0; i < 60; ++i) CHECK_FALSE(newcomer(greedy));
        CHECK(newcomer(greedy) == AcceptRefusal::descriptors);
        for (const Port port : ports) {
            if (port == greedy) continue;
            for (int i = 0; i < 10; ++i) CHECK_FALSE(newcomer(port));
            CHECK(newcomer(port) == AcceptRefusal::descriptors);
        }
        quota.give_back(greedy, IpAddress::v4({10, 0, 0, 0}));
        CHECK_FALSE(newcomer(greedy));
    }
}
