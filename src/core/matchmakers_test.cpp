#include "core/matchmakers.h"

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

TEST_CASE_FIXTURE(CoreWorld, "A-1: a matchmaker's handshake is checked in the order token, id, region, id in use") {
    const auto error = [this](const MatchmakerHandshake& hello) {
        const ConnectionId link = connect(Port::matchmakers);
        send(link, hello);
        const std::string text = error_of(next<MatchmakerHandshakeResponse>(link));
        CHECK(closed(link) == !text.empty());
        return text;
    };
    MatchmakerHandshake hello{"wrong", "bad id!", {}};
    CHECK(error(hello) == "Invalid token");
    hello.token = "matchmaker-secret";
    CHECK(error(hello) == "Invalid Chat Server ID");
    hello.matchmaker = "chat_1.eu-west";
    CHECK(error(hello) == "Invalid region");
    hello.regions = {{eu, RegionId(77)}};
    CHECK(error(hello) == "Invalid region");
    hello.regions = {{eu}};
    CHECK(error(hello) == "");
    CHECK(error(hello) == "Chat Server already registered");
    advance(45s);
    CHECK(error(hello) == "");  // the first has been silent for 1.5 intervals
}

TEST_CASE_FIXTURE(CoreWorld, "S-2: a certificate's matchmakers have its name, and no other's matches") {
    const auto error = [this](std::string certificate, std::string_view id) {
        const ConnectionId link = connect(Port::matchmakers, "10.0.0.1", std::move(certificate));
        MatchmakerHandshake hello{"", "", {{eu}}};
        hello.matchmaker = id;
        send(link, hello);
        const std::string text = error_of(next<MatchmakerHandshakeResponse>(link));
        CHECK(closed(link) == !text.empty());
        return text;
    };
    CHECK(error("mm-1", "mm-1") == "");
    CHECK(error("mm-1", "mm-1.eu") == "");
    for (const std::string_view anothers : {"mm-2", "mm-10", "mm", "mm-", "MM-1", "", "x.mm-1"})
        CHECK(error("mm-1", anothers) == "Invalid Chat Server ID");
    CHECK(log_lines.has("Invalid Chat Server ID"));
    CHECK(core->matchmakers().size() == 2);
}

TEST_CASE_FIXTURE(CoreWorld, "A-1: a matchmaker that says nothing for 90 s is dropped, and any message keeps it") {
    const ConnectionId matchmaker = join_matchmaker(*this);
    advance(89'999ms);
    send(matchmaker, MatchmakerHeartbeat{});
    CHECK(next<MatchmakerHeartbeatAck>(matchmaker).time == clock.wall());
    advance(89'999ms);
    CHECK_FALSE(closed(matchmaker));
    advance(1ms);
    CHECK(closed(matchmaker));
}

TEST_CASE_FIXTURE(CoreWorld, "A-1, X-3: a shorter limit of a reload holds for the matchmakers that are connected") {
    const ConnectionId matchmaker = join_matchmaker(*this);
    advance(1s);
    reload([](CoreConfig& config) { config.matchmakers.heartbeat_timeout = 3s; });
    advance(1'999ms);
    CHECK_FALSE(closed(matchmaker));
    advance(1ms);
    CHECK(closed(matchmaker));
}

TEST_CASE_FIXTURE(CoreWorld,
                  "A-1: the handshake lists the Available servers of the regions asked for, by ascending id") {
    const TestServer one = join(*this, 7777, eu);
    join(*this, 7778, use);
    const TestServer three = join(*this, 7779, eu);
    const TestServer draining = join(*this, 7780, eu);
    core->drain(draining.id, true);
    const ConnectionId link = connect(Port::matchmakers);
    send(link, MatchmakerHandshake{"matchmaker-secret", "chat-9", {{eu}}});
    const auto answer = next<MatchmakerHandshakeResponse>(link);
    const auto& servers = std::get<MatchmakerHandshakeResponse::Accepted>(answer.answer).servers.items;
    REQUIRE(servers.size() == 2);
    CHECK(servers[0].server == one.id);
    CHECK(servers[1].server == three.id);
    CHECK(servers[1].endpoint.port == 7779);
}

TEST_CASE_FIXTURE(CoreWorld, "A-1: a list that is too long for one frame is cut where the frame ends") {
    for (int i = 0; i < 4'000; ++i) join(*this, 1'024 + i, eu, 1, "2001:db8:aaaa:bbbb:cccc:dddd:eeee:1");
    const ConnectionId link = connect(Port::matchmakers);
    send(link, MatchmakerHandshake{"matchmaker-secret", "chat-9", {{eu}}});
    const std::size_t payload = links.peers[link].frames.front().payload.size();
    CHECK(payload + 2 <= 65'535);
    CHECK(payload + 2 > 65'400);
}
