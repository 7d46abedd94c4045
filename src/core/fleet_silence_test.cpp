// Whose silence counts, and whose does not: gaps, links that Muster does not read, and much of a region at once.
#include <algorithm>

#include <doctest/doctest.h>

#include "core/core_figures.h"
#include "core/core_fixture.h"

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

TEST_CASE_FIXTURE(CoreWorld, "L-8, fault 11: a process stopped inside a pass removes nobody, and pulls no brake") {
    std::vector<TestServer> servers;
    for (int i = 0; i < 60; ++i) servers.push_back(join(*this, 7000 + i));
    const auto all_beat = [&] {
        for (const TestServer& server : servers) send(server.link, beat_of(server));
    };
    all_beat();
    for (int stop = 0; stop < 3; ++stop) {
        in_pass([&](const Pass&) { clock.stand_still(300s); });
        advance(9s);
        all_beat();
    }
    CHECK(core->fleet().size() == 60);
    CHECK(events_named("brake.on") == 0);
    CHECK(events_named("server.offline") == 0);
    advance(29'999ms);
    CHECK(core->fleet().size() == 60);
}

TEST_CASE_FIXTURE(CoreWorld, "F-8, fault 29: silence and removal due in one pass are judged by the brake first") {
    for (int i = 0; i < 60; ++i) join(*this, 7000 + i);
    in_pass([&](const Pass&) { clock.advance(40s); });  // a pass that works so long is no gap
    CHECK(events_named("brake.on") == 1);
    CHECK(core->fleet().size() == 60);
    advance(49s);
    CHECK(core->fleet().size() == 60);
    advance(1s);
    CHECK(core->fleet().size() == 0);  // 90 s after their last heartbeat
}

TEST_CASE_FIXTURE(CoreWorld, "F-2: a single server that is overdue by all of its time is removed, without the brake") {
    const TestServer server = join(*this, 7777);
    in_pass([&](const Pass&) { clock.advance(40s); });
    advance(1ms);
    CHECK(core->fleet().find(server.id) == nullptr);
    CHECK(events_named("brake.on") == 0);
}

TEST_CASE_FIXTURE(CoreWorld, "F-2, X-3: shorter limits of a reload hold for the servers that are connected") {
    core->configure(usual_config([](CoreConfig& config) {
        config.fleet.heartbeat_interval = 1h;
        config.fleet.heartbeat_timeout = 2h;
    }));
    const TestServer server = join(*this, 7777);
    advance(60s);
    send(server.link, beat_of(server));
    reload([](CoreConfig& config) {
        config.fleet.heartbeat_interval = 2s;
        config.fleet.heartbeat_timeout = 10s;
    });
    advance(9'999ms);
    CHECK(core->fleet().find(server.id) != nullptr);
    advance(1ms);
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
                  "B-1, A-1: however long Muster does not read a link, its matchmaker is not judged meanwhile") {
    const ConnectionId matchmaker = join_matchmaker(*this);
    in_pass([&](const Pass& pass) { core->paused(pass, matchmaker); });
    advance(10min);
    CHECK(core->matchmakers().size() == 1);
    in_pass([&](const Pass& pass) { core->resumed(pass, matchmaker); });
    advance(89'999ms);
    CHECK(core->matchmakers().size() == 1);
    advance(1'001ms);
    CHECK(core->matchmakers().size() == 0);
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
        for (const auto& region : figures_of(*core).regions)
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

TEST_CASE_FIXTURE(CoreWorld, "F-2, F-8: who was kept by the brake and is back is removed at 30 s of silence, as ever") {
    std::vector<TestServer> servers;
    for (int i = 0; i < 12; ++i) servers.push_back(join(*this, 7000 + i));
    advance(16s);
    CHECK(events_named("brake.on") == 1);
    for (const TestServer& server : servers) send(server.link, beat_of(server));
    CHECK(events_named("brake.off") == 1);
    const auto all_but_one_beat = [&] {
        for (std::size_t i = 1; i < servers.size(); ++i) send(servers[i].link, beat_of(servers[i]));
    };
    advance(10s);
    all_but_one_beat();
    advance(10s);
    all_but_one_beat();
    advance(9'999ms);
    CHECK(core->fleet().size() == 12);
    advance(1ms);
    CHECK(core->fleet().size() == 11);
}

TEST_CASE_FIXTURE(CoreWorld, "F-8: who resumed is silent at half an interval overdue, wherever its timer stood") {
    const TestServer server = join(*this, 7000);
    disconnect(server.link);
    advance(1s);
    const TestServer back = join(*this, 7000);
    CHECK(back.id == server.id);
    advance(14'999ms);
    CHECK_FALSE(state_of(*this, back).silent);
    advance(1ms);
    CHECK(state_of(*this, back).silent);
}
