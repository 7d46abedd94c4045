#include "core/servers_by.h"

#include <doctest/doctest.h>

namespace muster {
namespace {

Server server_at(std::int32_t id, std::uint16_t port) {
    Server server;
    server.id = ServerId(id);
    server.endpoint = {IpAddress::v4({10, 0, 0, 1}), port};
    return server;
}

TEST_CASE("F-1: servers are found by id and by endpoint, and the later one has an endpoint that two claim") {
    Server one = server_at(1, 7000);
    Server two = server_at(2, 7001);
    Server usurper = server_at(3, 7000);
    ServersBy<ServerId, &Server::id> by_id;
    ServersBy<Endpoint, &Server::endpoint> by_endpoint;
    for (Server* server : {&one, &two, &usurper}) {
        by_id.insert(*server);
        by_endpoint.insert(*server);
    }
    CHECK(by_id.find(ServerId(1)) == &one);
    CHECK(by_id.find(ServerId(4)) == nullptr);
    CHECK(by_endpoint.find(two.endpoint) == &two);
    CHECK(by_endpoint.find(one.endpoint) == &usurper);

    by_endpoint.erase(one);
    CHECK(by_endpoint.find(one.endpoint) == &usurper);
    by_endpoint.erase(usurper);
    CHECK(by_endpoint.find(one.endpoint) == nullptr);
    by_id.erase(two);
    CHECK(by_id.find(ServerId(2)) == nullptr);
}

TEST_CASE("S-2, F-5: a server's name and drain are kept apart, and take no memory when both are empty") {
    Server server = server_at(1, 7000);
    CHECK(server.name().empty());
    CHECK(server.drain() == DrainNote{});
    server.set_name("eu-1");
    server.set_drain({"ada", "update", UnixMs{5}});
    CHECK(server.name() == "eu-1");
    CHECK(server.drain().reason == "update");
    server.set_drain({});
    CHECK(server.name() == "eu-1");
    CHECK(server.drain() == DrainNote{});
}

}  // namespace
}  // namespace muster
