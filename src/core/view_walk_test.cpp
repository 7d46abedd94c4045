#include "core/view_walk.h"

#include <optional>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/core_fixture.h"
#include "core/player_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

// The walk to its end; `meanwhile` is called between its steps, with how many there were.
template <class Walk, class Meanwhile>
auto walked(CoreWorld& world, Meanwhile meanwhile) {
    Walk walk;
    for (int steps = 1;
         !walk.step(*world.core, Pass{world.loop.time().now(), world.loop.time().running()}, UnixMs{1'000}); ++steps)
        meanwhile(steps);
    return walk.take();
}

FleetView view_of(CoreWorld& world) {
    return walked<FleetWalk>(world, [](int) { FAIL("so few take one step"); });
}

}  // namespace

TEST_CASE("O-2: a view shows servers by ascending id with their load as F-7 counts it") {
    CoreWorld world;
    const TestServer one = join(world, 7777, CoreWorld::eu, 10);
    const TestServer two = join(world, 7778, CoreWorld::use, 2);
    world.send(one.link, beat_of(one, 3, 45.5F, 60));
    world.send(two.link, beat_of(two, 2));
    world.advance(1500ms);

    const FleetView view = view_of(world);
    REQUIRE(view.servers.size() == 2);
    const ServerRow& row = view.servers[0];
    CHECK(row.id == one.id);
    CHECK(row.ip.to_string() == "10.0.0.1");
    CHECK(row.port == 7777);
    CHECK(row.region == CoreWorld::eu);
    CHECK(row.status == ServerStatus::available);
    CHECK(row.connected);
    CHECK(row.load == 3);
    CHECK(row.reported_matches == 3);
    CHECK(row.held == 0);
    CHECK(row.max_matches == 10);
    CHECK(row.cpu_percent == 45.5F);
    CHECK(row.memory_percent == 60.0F);
    CHECK(row.last_heartbeat_ms_ago == 1500);
    CHECK(row.epoch > 0);
    CHECK(view.servers[1].status == ServerStatus::full);
    CHECK(view.time == UnixMs{1'000});
}

TEST_CASE("O-2: a drained server and a lost one show so") {
    CoreWorld world;
    const TestServer one = join(world, 7777);
    const TestServer two = join(world, 7778);
    world.in_pass([&](const Pass&) { CHECK(world.core->drain(one.id, true)); });
    world.disconnect(two.link);
    const FleetView view = view_of(world);
    CHECK(view.servers[0].status == ServerStatus::draining);
    CHECK(view.servers[0].drained_by_operator);
    CHECK_FALSE(view.servers[0].drained_by_server);
    CHECK(view.servers[1].status == ServerStatus::offline);
    CHECK_FALSE(view.servers[1].connected);
}

TEST_CASE("K-3: a match's row tells how far it is and who used its token, and never the token") {
    CoreWorld world;
    const TestServer server = join(world, 7777);
    const ConnectionId matchmaker = join_matchmaker(world);
    const TestMatch match = allocate(world, matchmaker, server, 42);
    world.send(server.link, ValidateToken{server.id, match.lobby, AccountId(7), match.token});

    const FleetView view = view_of(world);
    REQUIRE(view.matches.size() == 1);
    const MatchRow& row = view.matches[0];
    CHECK(row.lobby == LobbyId(42));
    CHECK(row.server == server.id);
    CHECK(row.state == MatchState::allocated);
    CHECK(row.matchmaker == "chat-1");
    CHECK(row.player_count == 10);
    CHECK(row.average_rating == 1650);
    CHECK(row.tokens_used == 1);
    CHECK(row.allocated_at.value > 0);
    CHECK(row.ended_at.value == 0);
    CHECK(row.reason.empty());
    CHECK(view.servers[0].held == 1);
    CHECK(view.servers[0].choices == 1);
}

TEST_CASE("A-13: a view has the regions with what they counted, and refusals that named no region of ours") {
    CoreWorld world;
    const TestServer server = join(world, 7777);
    const ConnectionId matchmaker = join_matchmaker(world);
    (void)allocate(world, matchmaker, server, 42);
    world.send(matchmaker, request_for(43, CoreWorld::use));
    world.send(matchmaker, request_for(44, RegionId(77)));
    world.advance(1ms);

    const FleetView view = view_of(world);
    REQUIRE(view.regions.size() == 3);
    CHECK(view.regions[0].name == "USE");
    CHECK(view.regions[0].requests == 1);
    CHECK(view.regions[0].failures.at("no_servers_available") == 1);
    CHECK(view.regions[2].name == "EU");
    CHECK(view.regions[2].successes == 1);
    CHECK(view.failures.at("no_servers_available") == 1);
    CHECK(view.failures.at("region_not_supported") == 1);
    std::uint64_t timed = 0;
    for (const std::uint64_t count : view.allocation_seconds.counts) timed += count;
    CHECK(timed == 1);
    CHECK(view.allocation_seconds.counts.size() == view.allocation_seconds.bounds.size() + 1);
}

TEST_CASE("O-2: matchmakers are shown by name") {
    CoreWorld world;
    (void)join_matchmaker(world, "matchmaker-b");
    (void)join_matchmaker(world, "matchmaker-a");
    world.advance(2s);
    const FleetView view = view_of(world);
    REQUIRE(view.matchmakers.size() == 2);
    CHECK(view.matchmakers[0].id == "matchmaker-a");
    CHECK(view.matchmakers[0].regions.size() == 3);
    CHECK(view.matchmakers[0].last_seen_ms_ago == 2000);
    CHECK(view.matchmakers[1].id == "matchmaker-b");
}

TEST_CASE("O-2: a large fleet is looked at in steps, and what changes in between is shown at most once") {
    CoreWorld world;
    constexpr std::size_t servers = 3 * WalkPace::rows_least;
    std::vector<TestServer> fleet;
    for (std::size_t i = 0; i < servers; ++i) fleet.push_back(join(world, static_cast<std::int32_t>(2000 + i)));
    const ConnectionId matchmaker = join_matchmaker(world);
    (void)allocate(world, matchmaker, fleet.front(), 42);
    int between = 0;
    std::optional<TestServer> late;
    const FleetView view = walked<FleetWalk>(world, [&](int steps) {
        between = steps;
        if (steps != 1) return;
        // The walk has come to here, and goes on from a server that is gone.
        world.send(fleet[WalkPace::rows_least - 1].link, ServerGoodbye{fleet[WalkPace::rows_least - 1].id});
        world.send(fleet.back().link, ServerGoodbye{fleet.back().id});
        late = join(world, 9999);
    });
    CHECK(between == 3);
    REQUIRE(view.servers.size() == servers);
    for (std::size_t i = 1; i < view.servers.size(); ++i) CHECK(view.servers[i - 1].id < view.servers[i].id);
    CHECK(view.servers[WalkPace::rows_least - 1].id == fleet[WalkPace::rows_least - 1].id);
    CHECK(view.servers.back().id == late->id);
    CHECK(view.matches.size() == 1);
    CHECK(view.regions.size() == 3);
}

TEST_CASE("P-8: players are looked at in steps, and shown by ascending id, each once") {
    CoreWorld world;
    constexpr std::size_t count = 2 * WalkPace::rows_least + 10;
    std::vector<TestPlayer> players;
    for (std::size_t i = 0; i < count; ++i) players.push_back(log_in(world, fmt::format("p{}", i)));
    const PlayersView view = walked<PlayersWalk>(world, [&](int steps) {
        if (steps != 1) return;
        // Logs out where the walk was, and in again where it will be: the place it had is another's by then.
        world.send(players.front().link, PlayerLogout{});
        world.advance(5ms);
        (void)log_in(world, "late");
        (void)log_in(world, "p0");
    });
    REQUIRE(view.players.size() == count);
    for (std::size_t i = 1; i < view.players.size(); ++i) CHECK(view.players[i - 1].id < view.players[i].id);
    CHECK(view.players[0].name == "p0");
    CHECK(view.players[0].connected_at > view.players[1].connected_at);
}

TEST_CASE("O-2: many matches are looked at in steps, each once, while some end and others begin") {
    CoreWorld world;
    constexpr std::int32_t matches = 2 * static_cast<std::int32_t>(WalkPace::rows_least);
    const TestServer server = join(world, 7777, CoreWorld::eu, matches + 1);
    const ConnectionId matchmaker = join_matchmaker(world);
    for (std::int32_t lobby = 1; lobby <= matches; ++lobby) (void)allocate(world, matchmaker, server, lobby);
    const FleetView view = walked<FleetWalk>(world, [&](int steps) {
        if (steps != 1) return;
        // One server and all but one of the first 256 rows are seen: the walk goes on from a match that is over.
        world.in_pass([&](const Pass& pass) {
            CHECK(world.core->abort_match(pass, LobbyId(static_cast<std::int32_t>(WalkPace::rows_least) - 1), "over"));
            CHECK(world.core->abort_match(pass, LobbyId(matches), "over"));
        });
        world.forget_frames(server.link);
        world.forget_frames(matchmaker);
        (void)allocate(world, matchmaker, server, matches + 7);
    });
    REQUIRE(view.matches.size() == matches);
    for (std::size_t i = 1; i < view.matches.size(); ++i) CHECK(view.matches[i - 1].lobby < view.matches[i].lobby);
    CHECK(view.matches.back().lobby == LobbyId(matches + 7));
}

TEST_CASE("O-2: the longer a pass takes, the further a walk goes in it") {
    WalkPace pace;
    const auto at = [](Duration time) { return Pass{Time{} + time, {}}; };
    CHECK(pace.rows(at(5s)) == WalkPace::rows_least);
    CHECK(pace.rows(at(5s)) == WalkPace::rows_least);
    CHECK(pace.rows(at(5s + 100us)) == WalkPace::rows_least);
    CHECK(pace.rows(at(5s + 10ms)) == 9 * WalkPace::rows_per_ms);
    CHECK(pace.rows(at(5s + 110ms)) == 100 * WalkPace::rows_per_ms);
}
