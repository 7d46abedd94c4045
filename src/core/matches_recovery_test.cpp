#include <vector>

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

ServerRecord registered(std::int32_t id, std::uint16_t port) {
    ServerRecord server;
    server.id = ServerId(id);
    server.ip = *IpAddress::parse("10.0.0.1");
    server.port = port;
    server.region = CoreWorld::eu;
    server.epoch = id;
    server.max_matches = 10;
    return server;
}

RecoveredState after_a_match_each() {
    RecoveredState state;
    state.numbers = {100, 100, 100};
    state.servers = {registered(1, 7001), registered(2, 7002)};
    const UnixMs now = VirtualClock().wall();
    state.over = {{now, LobbyId(5), ServerId(1), MatchState::ended},
                  {now, LobbyId(6), ServerId(1), MatchState::aborted}};
    return state;
}

}  // namespace

TEST_CASE("A-10: after a restart a repeated ENDED succeeds, and STARTED hears that the match has ended") {
    CoreWorld world(after_a_match_each());
    const TestServer one = join(world, 7001);
    const TestServer two = join(world, 7002);
    REQUIRE(one.id == ServerId(1));
    const auto ended = [&](const TestServer& by, std::int32_t lobby) {
        world.send(by.link, MatchEndedReport{by.id, LobbyId(lobby)});
        return error_of(world.next<MatchResponse>(by.link));
    };
    CHECK(ended(one, 5) == "");
    CHECK(ended(one, 5) == "");
    CHECK(world.events_named("match.ended") == 0);
    world.send(one.link, MatchStartedReport{one.id, LobbyId(5)});
    CHECK(error_of(world.next<MatchResponse>(one.link)) == "Match already ended");
    CHECK(ended(two, 5) == "Server not allocated to this match");
    CHECK(ended(one, 6) == "Match not found");
}

TEST_CASE("A-2: after a restart the number of a match that is over is not used again") {
    CoreWorld world(after_a_match_each());
    join(world, 7001);
    const ConnectionId matchmaker = join_matchmaker(world);
    for (const std::int32_t lobby : {5, 6}) {
        world.send(matchmaker, request_for(lobby));
        CHECK(error_of(world.next<AllocationResponse>(matchmaker)) == "Invalid match lobby ID");
    }
}

TEST_CASE("fault 15, K-2: after a restart with an earlier date no token lives on, since nobody knows its age") {
    for (const bool went_back : {false, true}) {
        RecoveredState state = after_a_match_each();
        state.over.clear();
        const std::int64_t now = VirtualClock().wall().value;
        MatchRecord match;
        match.lobby = LobbyId(7);
        match.matchmaker = "chat-1";
        match.region = CoreWorld::eu;
        match.player_count = 10;
        match.state = MatchState::ready;
        match.server = ServerId(1);
        match.server_epoch = 1;
        match.token = "MATCH_7_token";
        match.allocated_at = UnixMs{now - 60'000};
        match.ready_at = UnixMs{went_back ? now + 1 : now - 1};
        state.matches = {match};
        CoreWorld world(state);
        const TestServer server = join(world, 7001);
        world.advance(1ms);
        world.send(server.link, ValidateToken{server.id, LobbyId(7), AccountId(1), MatchTokenText("MATCH_7_token")});
        CHECK(error_of(world.next<ValidateTokenResponse>(server.link)) == (went_back ? "Match token expired" : ""));
    }
}
