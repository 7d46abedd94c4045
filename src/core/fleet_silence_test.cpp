// Whose silence counts, and whose does not: gaps, links that Muster does not read, and much of a region at once.
#include <algorithm>

#include <doctest/doctest.h>

#include "core/core_fixture.h"
#include "core/core_snapshot.h"

using namespace muster;
using namespace muster::testing;

namespace {

void beat_for(CoreWorld& world, const TestServer& server, Duration time) {
    for (const Time end = world.clock.now() + time; world.clock.now() < end;) {
        world.advance(std::min<Duration>(10s, end - world.clock.now()));
        CHECK(heartbeat_error(world, server, beat_of(server)) == "");
    }
}

}  // namespace

TEST_CASE_FIXTURE(CoreWorld, "L-8, fault 11: a process that stood still takes nobody's silence for death") {
    const TestServer server = join(*this, 7777);
    beat_for(*this, server, 20s);
    clock.advance(300s);  // nothing turns
    settle();
    CHECK(core->fleet().find(server.id) != nullptr);
    CHECK(heartbeat_error(*this, server, beat_of(server)) == "");
    advance(29s);
    CHECK(core->fleet().find(server.id) != nullptr);
    advance(1s);
    CHECK(core->fleet().find(server.id) == nullptr);
}

TEST_CASE_FIXTURE(CoreWorld, "B-1: a link that Muster does not read is not silent") {
    const TestServer server = join(*this, 7777);
    in_pass([&](const Pass& pass) { core->paused(pass, server.link); });
    advance(14s);
    in_pass([&](const Pass& pass) { core->resumed(pass, server.link); });
    advance(29s);
    CHECK(core->fleet().find(server.id) != nullptr);
    advance(1s);
    CHECK(core->fleet().find(server.id) == nullptr);
}

TEST_CASE_FIXTURE(CoreWorld, "B-1: however long Muster does not read a link, its server is not judged meanwhile") {
    const TestServer server = join(*this, 7777);
    const TestServer other = join(*this, 7778);
    advance(10s);
    in_pass([&](const Pass& pass) { core->paused(pass, server.link); });
    advance(20s);
    CHECK(core->fleet().find(other.id) == nullptr);
    advance(10min);
    REQUIRE(core->fleet().find(server.id) != nullptr);
    CHECK(core->fleet().find(server.id)->status() == ServerStatus::available);
    CHECK_FALSE(core->fleet().find(server.id)->silent);

    // Nothing came of it: the 20 s that were left are judged within a second.
    in_pass([&](const Pass& pass) { core->resumed(pass, server.link); });
    advance(19'999ms);
    CHECK(core->fleet().find(server.id) != nullptr);
    advance(1'001ms);
    CHECK(core->fleet().find(server.id) == nullptr);
}

TEST_CASE_FIXTURE(CoreWorld,
                  "B-1: a heartbeat that is read before the link has caught up counts from then, not longer") {
    const TestServer server = join(*this, 7777);
    in_pass([&](const Pass& pass) { core->paused(pass, server.link); });
    advance(25s);
    CHECK(heartbeat_error(*this, server, beat_of(server)) == "");
    in_pass([&](const Pass& pass) { core->resumed(pass, server.link); });
    advance(29'999ms);
    CHECK(core->fleet().find(server.id) != nullptr);
    advance(1'001ms);
    CHECK(core->fleet().find(server.id) == nullptr);
}

TEST_CASE_FIXTURE(CoreWorld,
                  "B-1, A-1: however long Muster does not read a link, its chat server is not judged meanwhile") {
    const ConnectionId chat = join_chat(*this);
    in_pass([&](const Pass& pass) { core->paused(pass, chat); });
    advance(10min);
    CHECK(core->chat_servers().size() == 1);
    in_pass([&](const Pass& pass) { core->resumed(pass, chat); });
    advance(89'999ms);
    CHECK(core->chat_servers().size() == 1);
    advance(1'001ms);
    CHECK(core->chat_servers().size() == 0);
}

TEST_CASE_FIXTURE(CoreWorld,
                  "F-8, fault 29: when much of a region falls silent at once, all are Offline but kept for 90 s") {
    std::vector<TestServer> servers;
    for (int i = 0; i < 60; ++i) servers.push_back(join(*this, 7000 + i));
    advance(10s);
    for (const TestServer& server : servers) send(server.link, beat_of(server));
    for (int i = 0; i < 10; ++i) disconnect(servers[static_cast<std::size_t>(i)].link);
    CHECK(events_named("brake.on") == 1);
    CHECK(core->fleet().figures().brakes == 1);
    const auto braked_regions = [&] {
        std::vector<std::string> names;
        for (const auto& region : snapshot_of(*core).regions)
            if (region.brake_on) names.push_back(region.name);
        return names;
    };
    CHECK(braked_regions() == std::vector<std::string>{"EU"});

    // The rest stays well; the ten are kept, and one of them comes back.
    const auto rest_beats = [&] {
        for (std::size_t i = 10; i < servers.size(); ++i) send(servers[i].link, beat_of(servers[i]));
    };
    for (int i = 0; i < 8; ++i) {
        advance(10s);
        rest_beats();
    }
    CHECK(core->fleet().size() == 60);
    const TestServer back = join(*this, 7000);
    CHECK(back.id == servers[0].id);
    advance(9'999ms);
    CHECK(core->fleet().size() == 60);
    CHECK(events_named("brake.off") == 0);
    advance(1ms);
    CHECK(core->fleet().size() == 51);
    CHECK(events_named("brake.off") == 1);
    CHECK(braked_regions().empty());
}

TEST_CASE_FIXTURE(CoreWorld, "F-8: nine servers, or a small share, are removed as ever") {
    std::vector<TestServer> servers;
    for (int i = 0; i < 80; ++i) servers.push_back(join(*this, 7000 + i));
    advance(10s);
    for (const TestServer& server : servers) send(server.link, beat_of(server));
    // Twelve of eighty are exactly 15 %, which is not over it.
    for (std::size_t i = 0; i < 12; ++i) disconnect(servers[i].link);
    CHECK(events_named("brake.on") == 0);
    for (int i = 0; i < 3; ++i) {
        advance(10s);
        for (std::size_t i2 = 12; i2 < servers.size(); ++i2) send(servers[i2].link, beat_of(servers[i2]));
    }
    CHECK(core->fleet().size() == 68);
}

TEST_CASE_FIXTURE(
    CoreWorld,
    "X-4: after a restart known servers are Offline, with a full timeout to return and their draining kept") {
    RecoveredState state;
    state.numbers = {.server_ids_below = 10'001, .epochs_below = 500, .event_ids_below = 5};
    state.servers.push_back({ServerId(7), *IpAddress::parse("10.0.0.1"), 7777, eu, 400, 5, true, false, UnixMs{1}});
    state.servers.push_back({ServerId(8), *IpAddress::parse("10.0.0.1"), 7778, eu, 401, 5, false, false, UnixMs{1}});
    CoreWorld restarted(state);
    CHECK(restarted.core->fleet().find(ServerId(7))->status() == ServerStatus::offline);
    restarted.advance(29'999ms);
    const TestServer back = join(restarted, 7777);
    CHECK(back.id == ServerId(7));
    CHECK(state_of(restarted, back).epoch >= 500);
    CHECK(state_of(restarted, back).draining());
    restarted.advance(1ms);
    CHECK(restarted.core->fleet().find(ServerId(8)) == nullptr);
    const TestServer fresh = join(restarted, 9999);
    CHECK(fresh.id.value >= 10'001);
}

TEST_CASE_FIXTURE(CoreWorld,
                  "X-4, fault 46: ids and epochs never repeat, and run out rather than repeat when the store is down") {
    store.fault = StoreFault::full;
    std::size_t refused = 0;
    for (int i = 0; i < Numbers::server_block + 10; ++i) {
        const ConnectionId link = connect(Port::servers);
        send(link, hello_of("10.0.0.1", 1024 + i % 60'000, eu, 1));
        const auto answer = next<ServerHandshakeResponse>(link);
        if (error_of(answer) == "Store unavailable") ++refused;
        send(link, ServerGoodbye{ServerId(i + 1)});
    }
    CHECK(refused == 10);
}
