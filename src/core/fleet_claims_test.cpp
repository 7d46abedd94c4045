// Which endpoints a game server may claim.
#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

TEST_CASE("S-6: a game server claims an address of fleet.addresses only, and the refusal is counted") {
    CoreWorld world({}, [](CoreConfig& config) {
        config.fleet.addresses = {*IpRange::parse("203.0.113.0/24"), *IpRange::parse("2001:db8::/32")};
    });
    const auto error_at = [&](std::string_view ip) {
        const ConnectionId link = world.connect(Port::servers, "10.0.0.1");
        world.send(link, hello_of(ip, 7000, CoreWorld::eu, 10));
        return error_of(world.next<ServerHandshakeResponse>(link));
    };
    CHECK(error_at("203.0.113.255") == "");
    CHECK(error_at("2001:db8::1") == "");
    CHECK(error_at("203.0.114.0") == "Server address not allowed");
    CHECK(error_at("10.0.0.1") == "Server address not allowed");
    std::uint64_t counted = 0;
    world.core->refused_registrations().for_each_total([&](Port, Refusal why, std::uint64_t count) {
        if (why == Refusal::address_not_allowed) counted += count;
    });
    CHECK(counted == 2);
    CHECK(world.core->fleet().size() == 2);
    CHECK(world.log_lines.has("Server address not allowed"));
}

TEST_CASE("S-2: an endpoint registered under a certificate's name is taken over by that name only") {
    CoreWorld world;
    const auto error_as = [&](std::string name, ConnectionId* link_of = nullptr) {
        const ConnectionId link = world.connect(Port::servers, "10.0.0.1", std::move(name));
        world.send(link, hello_of("10.0.0.1", 7000, CoreWorld::eu, 10));
        if (link_of) *link_of = link;
        return error_of(world.next<ServerHandshakeResponse>(link));
    };
    ConnectionId first;
    CHECK(error_as("eu-1", &first) == "");
    world.disconnect(first);
    CHECK(error_as("eu-2") == "Server registered under another name");
    CHECK(error_as("") == "Server registered under another name");  // with the shared token
    ConnectionId again;
    CHECK(error_as("eu-1", &again) == "");
    CHECK(world.core->fleet().size() == 1);

    // It is so after a restart, too; and over once the registration has ended.
    RecoveredState recovered;
    recovered.numbers = {1'000, 1'000, 1'000};
    for (const Record& record : world.store.durable)
        if (const auto* server = std::get_if<ServerRecord>(&record)) recovered.servers = {*server};
    CoreWorld next(recovered);
    const auto error_after = [&](std::string name) {
        const ConnectionId link = next.connect(Port::servers, "10.0.0.1", std::move(name));
        next.send(link, hello_of("10.0.0.1", 7000, CoreWorld::eu, 10));
        return error_of(next.next<ServerHandshakeResponse>(link));
    };
    CHECK(error_after("eu-2") == "Server registered under another name");
    next.advance(31s);
    CHECK(error_after("eu-2") == "");
}

TEST_CASE("S-2: an endpoint that was registered without a name belongs to the first name that comes") {
    CoreWorld world;
    const TestServer server = join(world, 7000);
    world.disconnect(server.link);
    const ConnectionId link = world.connect(Port::servers, "10.0.0.1", "eu-1");
    world.send(link, hello_of("10.0.0.1", 7000, CoreWorld::eu, 10));
    CHECK(error_of(world.next<ServerHandshakeResponse>(link)) == "");
    CHECK(state_of(world, server).name() == "eu-1");
}
