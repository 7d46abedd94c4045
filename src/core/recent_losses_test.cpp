#include "core/recent_losses.h"

#include <doctest/doctest.h>

#include "core/core_fixture.h"
#include "core/view_walk.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

struct Losing : CoreWorld {
    using CoreWorld::CoreWorld;

    FleetView view() {
        FleetWalk walk;
        in_pass([&](const Pass& pass) {
            while (!walk.step(*core, pass, UnixMs{1})) {
            }
        });
        return walk.take();
    }
    std::uint64_t lost(RegionId region) {
        for (const RegionRow& row : view().regions)
            if (row.id == region) return row.lost;
        return 0;
    }
};

RecoveredState recovered_fleet() {
    RecoveredState recovered;
    recovered.numbers.server_ids_below = 10'001;
    ServerRecord server;
    server.id = ServerId(5);
    server.ip = *IpAddress::parse("10.0.0.1");
    server.port = 7777;
    server.region = CoreWorld::eu;
    server.max_matches = 10;
    server.epoch = 1;
    recovered.servers.push_back(server);
    return recovered;
}

}  // namespace

TEST_CASE_FIXTURE(Losing, "O-2: servers that fell silent are remembered by region for 15 minutes") {
    CHECK_FALSE(view().had_servers);
    const auto eu_one = join(*this, 7777);
    join(*this, 7778);
    join(*this, 7779, use);
    CHECK(view().had_servers);
    advance(20s);
    CHECK(heartbeat_error(*this, eu_one, beat_of(eu_one)) == "");
    advance(15s);
    CHECK(lost(eu) == 1);
    CHECK(lost(use) == 1);
    advance(RecentLosses::memory - 10s);
    CHECK(lost(eu) == 2);  // the first one fell silent, too
    advance(10s);
    CHECK(lost(eu) == 1);
    CHECK(lost(use) == 0);
    advance(RecentLosses::memory);
    CHECK(lost(eu) == 0);
    CHECK(view().had_servers);
}

TEST_CASE_FIXTURE(Losing, "O-2: a server that comes back is not lost, and one that leaves on purpose never was") {
    join(*this, 7777);
    const auto leaving = join(*this, 7778);
    send(leaving.link, ServerGoodbye{leaving.id});
    CHECK(lost(eu) == 0);
    advance(31s);
    CHECK(lost(eu) == 1);
    join(*this, 7777);
    CHECK(lost(eu) == 0);
}

TEST_CASE_FIXTURE(Losing, "O-2: matches that fell through with their server are remembered for 15 minutes") {
    const auto server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    for (int lobby = 1; lobby <= 5; ++lobby) allocate(*this, matchmaker, server, lobby);
    send(matchmaker, CancelMatch{LobbyId(1)});
    CHECK(view().aborts == 0);
    advance(31s);
    CHECK(view().aborts == 4);
    CHECK(view().abort_reason == "Server lost");
    advance(RecentLosses::memory - 10s);
    CHECK(view().aborts == 4);
    advance(1min);
    CHECK(view().aborts == 0);
}

TEST_CASE("O-2: servers of the last run that do not return are lost, and nobody says that none ever came") {
    Losing world(recovered_fleet());
    CHECK(world.view().had_servers);
    CHECK(world.lost(CoreWorld::eu) == 0);
    world.advance(31s);
    CHECK(world.view().servers.empty());
    CHECK(world.lost(CoreWorld::eu) == 1);
}
