#include "core/refused_registrations.h"

#include <string>

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

struct Refusing : CoreWorld {
    std::string refused_server(std::string_view peer, const ServerHandshake& hello) {
        const ConnectionId link = connect(Port::servers, peer);
        send(link, hello);
        const std::string why = error_of(next<ServerHandshakeResponse>(link));
        CHECK(closed(link));
        return why;
    }
    std::string refused_matchmaker(std::string_view token, std::string_view id, RegionId region) {
        const ConnectionId link = connect(Port::matchmakers, "10.0.0.7");
        send(link, MatchmakerHandshake{HandshakeTokenText(token), MatchmakerIdText(id), {{region}}});
        return error_of(next<MatchmakerHandshakeResponse>(link));
    }
    std::uint64_t total(Port port, Refusal why) const {
        std::uint64_t found = 0;
        core->refused_registrations().for_each_total([&](Port of, Refusal reason, std::uint64_t count) {
            if (of == port && reason == why) found = count;
        });
        return found;
    }
    auto recent(Port port) const { return core->refused_registrations().recent(clock.now(), port); }
    ServerHandshake wrong_token() const {
        ServerHandshake hello = hello_of("10.0.0.1", 7777, eu, 10);
        hello.token = HandshakeTokenText("rotated");
        return hello;
    }
};

}  // namespace

TEST_CASE_FIXTURE(Refusing, "F-1: every refused game server is counted by its reason, logged and an event") {
    join(*this, 7777);
    CHECK(refused_server("10.0.0.9", wrong_token()) == "Invalid token");
    CHECK(refused_server("10.0.0.9", hello_of("0.0.0.0", 7778, eu, 10)) == "Invalid IP address");
    CHECK(refused_server("10.0.0.9", hello_of("10.0.0.1", 80, eu, 10)) == "Invalid port");
    CHECK(refused_server("10.0.0.9", hello_of("10.0.0.1", 7778, RegionId(77), 10)) == "Invalid region");
    CHECK(refused_server("10.0.0.9", hello_of("10.0.0.1", 7778, eu, 0)) == "Invalid capacity");
    CHECK(refused_server("10.0.0.9", hello_of("10.0.0.1", 7777, eu, 10)) == "Server already registered");
    for (const Refusal why : {Refusal::invalid_token, Refusal::invalid_ip_address, Refusal::invalid_port,
                              Refusal::invalid_region, Refusal::invalid_capacity, Refusal::server_already_registered})
        CHECK(total(Port::servers, why) == 1);
    CHECK(events_named("server.refused") == 6);
    CHECK(
        log_lines.has("Refused a game server: Invalid region peer=10.0.0.9 endpoint=10.0.0.1:7778 region=77 count=1"));
    CHECK_FALSE(log_lines.has("rotated"));
}

TEST_CASE_FIXTURE(Refusing, "A-1: every refused matchmaker is counted by its reason, logged and an event") {
    join_matchmaker(*this, "chat-1");
    CHECK(refused_matchmaker("rotated", "chat-2", eu) == "Invalid token");
    CHECK(refused_matchmaker("matchmaker-secret", "", eu) == "Invalid Chat Server ID");
    CHECK(refused_matchmaker("matchmaker-secret", "chat-2", RegionId(77)) == "Invalid region");
    CHECK(refused_matchmaker("matchmaker-secret", "chat-1", eu) == "Chat Server already registered");
    for (const Refusal why : {Refusal::invalid_token, Refusal::invalid_matchmaker_id, Refusal::invalid_region,
                              Refusal::matchmaker_already_registered})
        CHECK(total(Port::matchmakers, why) == 1);
    CHECK(events_named("matchmaker.refused") == 4);
    CHECK(log_lines.has("Refused a matchmaker: Invalid token peer=10.0.0.7 matchmaker=chat-2 count=1"));
}

TEST_CASE_FIXTURE(Refusing, "F-1: a flood of refused registrations fills neither the log nor the history") {
    const ServerHandshake no_capacity = hello_of("10.0.0.1", 7777, eu, 0);
    for (int i = 0; i < 500; ++i) refused_server("10.0.0.9", no_capacity);
    CHECK(events_named("server.refused") == 1);
    for (int i = 0; i < 500; ++i)
        refused_server("10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250), no_capacity);
    CHECK(events_named("server.refused") == RefusedRegistrations::told_max);
    CHECK(total(Port::servers, Refusal::invalid_capacity) == 1000);

    // The next minute's first says how many were not told.
    advance(RefusedRegistrations::window);
    refused_server("10.0.0.9", no_capacity);
    CHECK(log_lines.has("peer=10.0.0.9 endpoint=10.0.0.1:7777 region=EU count=500"));
}

TEST_CASE_FIXTURE(Refusing, "O-2: what is being refused is known while it goes on, and for a minute or two after") {
    CHECK_FALSE(recent(Port::servers));
    refused_server("10.0.0.8", hello_of("10.0.0.1", 80, eu, 10));
    for (int i = 0; i < 3; ++i) refused_server("10.0.0.9", wrong_token());
    REQUIRE(recent(Port::servers));
    CHECK(recent(Port::servers)->count == 4);
    CHECK(recent(Port::servers)->most == Refusal::invalid_token);
    CHECK(recent(Port::servers)->last.to_string() == "10.0.0.9");
    CHECK_FALSE(recent(Port::matchmakers));
    advance(RefusedRegistrations::window);
    CHECK(recent(Port::servers));
    refused_server("10.0.0.9", wrong_token());
    CHECK(recent(Port::servers)->count == 5);
    advance(2 * RefusedRegistrations::window);
    CHECK_FALSE(recent(Port::servers));
}
