// The judge of what servers have to drop can fail: one may hold a match that nobody will tell it of.
#include <doctest/doctest.h>

#include "core/core_fixture.h"
#include "sim/judges_fixture.h"

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(JudgesFixture,
                  "fault 65: a server that may hold what Muster neither knows nor tells it to drop is objected to") {
    muster::testing::CoreWorld world({}, use_simulated_regions);
    const LinkNumber server = register_server(1);
    const auto ip = *IpAddress::parse("10.0.0.1");
    drops.said(scene, server, AllocateMatch{lobby, 6, 0, "MATCH_a"});
    std::string expected;
    SUBCASE("nothing is known of it") {
        expected = "fault 65";
    }
    SUBCASE("its offer is on the disk") {
        MatchRecord match;
        match.lobby = lobby;
        match.server_ip = "10.0.0.1";
        match.server_port = 7001;
        SUBCASE("of this server") {}
        SUBCASE("of another server") {
            match.server_port = 7002;
            expected = "fault 65";
        }
        drops.durable(scene.now, {1, {match}});
    }
    SUBCASE("it said no") {
        drops.heard(scene, server, AllocateMatchAck{false, lobby});
    }
    SUBCASE("its abort is owed") {
        drops.durable(scene.now, {1, {AbortOwed{ip, 7001, lobby}}});
    }
    SUBCASE("its abort was sent") {
        drops.said(scene, server, AbortMatch{lobby, "Cancelled"});
        advance(59s);
        expected = "fault 65";
        SUBCASE("just now") {}
        SUBCASE("and its link has stood for a minute") {
            advance(1s);
            expected = "";
        }
        SUBCASE("and its link was lost") {
            drops.closed(scene, server);
            advance(1s);
        }
        SUBCASE("and again on a newer link, before it was known that the first was lost") {
            drops.said(scene, resume_server(1, 2), AbortMatch{lobby, "Cancelled"});
            drops.closed(scene, server);
            SUBCASE("which has stood for less than a minute") {
                advance(59s);
            }
            SUBCASE("which has stood for a minute") {
                advance(60s);
                expected = "";
            }
        }
        drops.pass_ended(scene, *world.core);
    }
    drops.run_began(scene, *world.core);
    CHECK(rule() == expected);
}

TEST_CASE_FIXTURE(JudgesFixture,
                  "A-9, fault 72: a match that its server was told to drop stands only by the server's word or count") {
    muster::testing::CoreWorld world({}, use_simulated_regions);
    MatchRecord match;
    match.lobby = lobby;
    match.region = eu;
    match.state = MatchState::started;
    match.server = ServerId(1);
    std::int32_t count = 1;
    float cpu = 1;
    bool aborted_again = false;
    std::string expected = "fault 72";
    SUBCASE("it was started, and its server counts as many as it is known to hold") {
        expected = "";
    }
    SUBCASE("it was ready, and its server counts as many as it is known to hold") {
        match.state = MatchState::ready;
        expected = "";
    }
    SUBCASE("it was allocated: then its server is asked") {
        match.state = MatchState::allocated;
    }
    SUBCASE("its server counts fewer") {
        count = 0;
    }
    SUBCASE("its server's report makes no sense") {
        cpu = -1;
    }
    SUBCASE("it was aborted in this run, too") {
        aborted_again = true;
    }
    drops.said(scene, register_server(1), AbortMatch{lobby, "Aborted by operator"});
    slots.durable(scene.now, {1, {match}});
    drops.durable(scene.now, {1, {match}});
    slots.run_began(scene, *world.core);
    drops.run_began(scene, *world.core);
    const LinkNumber server = resume_server(1, 2);
    registry.heard(scene, register_server(2), ServerHeartbeat{ServerId(2), 0, 1, 1});
    if (aborted_again) drops.said(scene, server, AbortMatch{lobby, "Aborted by operator"});
    const ServerHeartbeat beat{ServerId(1), count, cpu, 1};
    registry.heard(scene, server, beat);
    drops.heard(scene, server, beat);
    drops.said(scene, matchmaker_link,
               AllocationResponse{AllocationResponse::Accepted{lobby, ServerId(1), {}, "MATCH_a", {}}});
    CHECK(rule() == expected);
}
