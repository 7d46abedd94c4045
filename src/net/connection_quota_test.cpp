#include "net/connection_quota.h"

#include <doctest/doctest.h>

using namespace muster;

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
    CHECK_FALSE(quota.take(Port::players, ip("10.0.0.1"), limits));
    CHECK_FALSE(quota.take(Port::players, ip("10.0.0.1"), limits));
    CHECK(quota.take(Port::players, ip("10.0.0.1"), limits) == RefusalReason::per_ip);
    CHECK(quota.take(Port::players, ip("::ffff:10.0.0.1"), limits) == RefusalReason::per_ip);
    CHECK_FALSE(quota.take(Port::players, ip("10.0.0.2"), limits));
    quota.give_back(Port::players, ip("10.0.0.1"));
    CHECK_FALSE(quota.take(Port::players, ip("10.0.0.1"), limits));
}

TEST_CASE("W-7, fault 27: players that use up an address leave its servers their share") {
    ConnectionQuota quota;
    const PortLimits limits = at_most(1, 100);
    CHECK_FALSE(quota.take(Port::players, ip("10.0.0.1"), limits));
    CHECK(quota.take(Port::players, ip("10.0.0.1"), limits));
    CHECK_FALSE(quota.take(Port::servers, ip("10.0.0.1"), limits));
}

TEST_CASE("W-7, fault 27: a port gets its number of connections and no more") {
    ConnectionQuota quota;
    const PortLimits limits = at_most(10, 2);
    CHECK_FALSE(quota.take(Port::matchmakers, ip("10.0.0.1"), limits));
    CHECK_FALSE(quota.take(Port::matchmakers, ip("10.0.0.2"), limits));
    CHECK(quota.take(Port::matchmakers, ip("10.0.0.3"), limits) == RefusalReason::per_port);
    quota.give_back(Port::matchmakers, ip("10.0.0.2"));
    CHECK_FALSE(quota.take(Port::matchmakers, ip("10.0.0.3"), limits));
}

TEST_CASE("fault 27: an IPv6 network of one machine counts as one address") {
    ConnectionQuota quota;
    const PortLimits limits = at_most(1, 100);
    CHECK_FALSE(quota.take(Port::players, ip("2001:db8:0:1::1"), limits));
    CHECK(quota.take(Port::players, ip("2001:db8:0:1:ffff::2"), limits) == RefusalReason::per_ip);
    CHECK_FALSE(quota.take(Port::players, ip("2001:db8:0:2::1"), limits));
}

TEST_CASE("W-7: a limit of zero lets nobody in") {
    ConnectionQuota quota;
    CHECK(quota.take(Port::players, ip("10.0.0.1"), at_most(0, 100)) == RefusalReason::per_ip);
    CHECK(quota.take(Port::players, ip("10.0.0.1"), at_most(10, 0)) == RefusalReason::per_port);
}
