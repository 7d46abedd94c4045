#include "daemon/refused_connections.h"

#include <doctest/doctest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST_CASE("S-7, G-12: connections beyond a limit are told with the key to change, once a minute while it goes on") {
    RefusedConnections refused;
    const Config config;
    Time now{100s};
    RefusedConnections::Count processes{Port::servers, AcceptRefusal::per_ip, 0, *IpAddress::parse("10.0.0.7")};
    CHECK(refused.look(now, {processes}, config).empty());
    CHECK(refused.warning(now).empty());

    const std::string sentence =
        "at the servers port, the last of 10.0.0.7: one address may have limits.connections_per_ip = 1024; raise it "
        "where a host runs more processes, or many peers share an address";
    processes.total = 1;
    CHECK(refused.look(now, {processes}, config) == std::vector<std::string>{"Refused 1 connection " + sentence});
    CHECK(refused.warning(now) == "Connections are refused " + sentence);
    processes.total = 31;
    now += RefusedConnections::told_every - 1ms;
    CHECK(refused.look(now, {processes}, config).empty());
    const Time last = now;
    now += 1ms;
    CHECK(refused.look(now, {processes}, config) == std::vector<std::string>{"Refused 30 connections " + sentence});
    now += RefusedConnections::told_every;
    CHECK(refused.look(now, {processes}, config).empty());
    CHECK_FALSE(refused.warning(last + RefusedConnections::shown_for - 1ms).empty());
    CHECK(refused.warning(last + RefusedConnections::shown_for).empty());
}

TEST_CASE("S-7: each limit has a sentence of its own, and coming too fast is no state to warn of") {
    RefusedConnections refused;
    const Config config;
    const IpAddress from = *IpAddress::parse("10.0.0.7");
    const Time now{100s};
    const auto told = refused.look(now, {{Port::players, AcceptRefusal::accept_rate, 5, from}}, config);
    REQUIRE(told.size() == 1);
    CHECK(told[0].find("limits.accepts_per_second_ip = ") != std::string::npos);
    CHECK(refused.warning(now).empty());
    const auto others = refused.look(
        now,
        {{Port::players, AcceptRefusal::per_port, 5, from}, {Port::matchmakers, AcceptRefusal::descriptors, 5, from}},
        config);
    REQUIRE(others.size() == 2);
    CHECK(others[0].find("at the players port, the last of 10.0.0.7: the port may have limits.connections_per_port") !=
          std::string::npos);
    CHECK(others[1].find("LimitNOFILE=") != std::string::npos);
}

}  // namespace
}  // namespace muster
