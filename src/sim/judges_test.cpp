// The judges can fail: what a correct core never does is told to them by hand, and the right one objects.
#include <doctest/doctest.h>

#include "core/core_fixture.h"
#include "sim/judges_fixture.h"

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(JudgesFixture, "an allocation by the rules is not objected to") {
    const LinkNumber server = register_server(1);
    ask();
    offer(server, "MATCH_a");
    acknowledge(server);
    slots.happened(scene, event::MatchAllocated{lobby, eu, ServerId(1), "chat-1", 0s});
    CHECK(slots.held(ServerId(1)) == 1);
    CHECK(slots.live(lobby));
    slots.happened(scene, event::MatchEnded{lobby, ServerId(1), ""});
    CHECK(slots.held(ServerId(1)) == 0);
    CHECK(rule() == "");
}

TEST_CASE_FIXTURE(JudgesFixture, "invariant 1: an offer to a server without a free slot is objected to") {
    const LinkNumber server = register_server(1, 1);
    registry.heard(scene, server, ServerHeartbeat{ServerId(1), 1, 0, 0});
    ask();
    offer(server, "MATCH_a");
    CHECK(rule() == "invariant 1");
}

TEST_CASE_FIXTURE(JudgesFixture, "invariant 2: a lobby that two servers have acknowledged is objected to") {
    const LinkNumber first = register_server(1);
    const LinkNumber second = register_server(2);
    ask();
    offer(first, "MATCH_a");
    offer(second, "MATCH_b");
    acknowledge(first);
    CHECK(rule() == "");
    acknowledge(second);
    CHECK(rule() == "invariant 2");
}

TEST_CASE_FIXTURE(JudgesFixture, "invariant 5: a match without an acknowledgement on its registration is objected to") {
    const LinkNumber before = register_server(1);
    ask();
    offer(before, "MATCH_a");
    registry.closed(scene, before);
    slots.happened(scene, event::ServerOffline{ServerId(1), eu, "connection lost"});
    acknowledge(before);
    slots.happened(scene, event::MatchAllocated{lobby, eu, ServerId(1), "chat-1", 0s});
    CHECK(rule() == "invariant 5");
}

TEST_CASE_FIXTURE(JudgesFixture, "invariant 6: a fifth offer is objected to") {
    ask();
    for (std::int32_t id = 1; id <= 4; ++id) {
        const LinkNumber server = register_server(id);
        offer(server, std::to_string(id).c_str());
        slots.heard(scene, server, AllocateMatchAck{false, lobby});
    }
    CHECK(rule() == "");
    offer(register_server(5), "MATCH_e");
    CHECK(rule() == "invariant 6");
}

TEST_CASE_FIXTURE(JudgesFixture, "A-7: an offer to a server that still owes an answer for this lobby is objected to") {
    const LinkNumber server = register_server(1);
    ask();
    offer(server, "MATCH_a");
    advance(5s);
    slots.said(scene, server, AbortMatch{lobby, "Offer withdrawn"});
    slots.happened(scene, event::MatchRefused{lobby, eu, "Server allocation timeout", "server_allocation_timeout", 5s});
    ask();
    offer(server, "MATCH_b");
    CHECK(rule() == "A-7");
}

TEST_CASE_FIXTURE(JudgesFixture, "A-3: no servers available while one is, is objected to") {
    register_server(1);
    ask();
    slots.happened(scene, event::MatchRefused{lobby, eu, "No servers available", "no_servers_available", 0s});
    CHECK(rule() == "A-3");
}

TEST_CASE_FIXTURE(JudgesFixture, "invariant 4: a success after 25 s is objected to") {
    ask();
    advance(25'001ms);
    verdicts.said(scene, matchmaker_link,
                  AllocationResponse{AllocationResponse::Accepted{lobby, ServerId(1), {}, "MATCH_a", {}}});
    CHECK(rule() == "invariant 4");
}

TEST_CASE_FIXTURE(JudgesFixture,
                  "invariant 8: a token that is accepted 120 s after its acknowledgement is objected to") {
    const LinkNumber server = register_server(1);
    ask();
    offer(server, "MATCH_a");
    acknowledge(server);
    advance(120s);
    const ValidateToken request{ServerId(1), lobby, AccountId(7), "MATCH_a"};
    verdicts.heard(scene, server, request);
    SUBCASE("and one at 119.999 s is not") {
        advance(-1ms);
        verdicts.heard(scene, server, request);
        const TokenQuestion question = tokens.ask(scene, server, request);
        tokens.answered(scene, question, true, "");
        CHECK(rule() == "");
    }
    SUBCASE("at 120 s") {
        verdicts.said(scene, server, ValidateTokenResponse{ValidateTokenResponse::Accepted{lobby, AccountId(7)}});
        CHECK(rule() == "invariant 8");
    }
}

TEST_CASE_FIXTURE(JudgesFixture, "K-2: more accounts than players, and one that is not listed, are objected to") {
    const LinkNumber server = register_server(1);
    ask();
    offer(server, "MATCH_a");
    acknowledge(server);
    SUBCASE("a third account of a match for two") {
        for (std::int32_t account = 1; account <= 3; ++account) {
            const TokenQuestion question =
                tokens.ask(scene, server, ValidateToken{ServerId(1), lobby, AccountId(account), "MATCH_a"});
            CHECK(rule() == "");
            tokens.answered(scene, question, true, "");
        }
        CHECK(rule() == "invariant 8");
    }
    SUBCASE("an account that is not on the list") {
        tokens.list_asked(matchmaker_link, MatchPlayers{lobby, {{AccountId(1)}}});
        tokens.list_answered(scene, lobby, {AccountId(1)}, true);
        tokens.answered(scene, tokens.ask(scene, server, ValidateToken{ServerId(1), lobby, AccountId(2), "MATCH_a"}),
                        true, "");
        CHECK(rule() == "invariant 8");
    }
}

TEST_CASE_FIXTURE(JudgesFixture,
                  "K-2: a list that is forgotten before its hour is over is objected to, and later not") {
    const MatchPlayers list{lobby, {{AccountId(1)}}};
    tokens.heard(scene, matchmaker_link, list);
    tokens.list_asked(matchmaker_link, list);
    tokens.list_answered(scene, lobby, {AccountId(1)}, true);
    SUBCASE("before") {
        advance(1h - 1ns);
        tokens.durable(scene.now, {1, {PlayersForgotten{lobby}}});
        CHECK(rule() == "K-2");
    }
    SUBCASE("after") {
        advance(1h);
        tokens.durable(scene.now, {1, {PlayersForgotten{lobby}}});
        CHECK(rule() == "");
    }
}

TEST_CASE_FIXTURE(JudgesFixture, "invariant 9: a server that is removed after 29.999 s of silence is objected to") {
    register_server(1);
    advance(29'999ms);
    const event::ServerRemoved removed{ServerId(1), eu, "Server lost", true, 0s, 0s};
    registry.happened(scene, removed);
    fleet.happened(scene, removed);
    CHECK(rule() == "invariant 9");
}

TEST_CASE_FIXTURE(JudgesFixture, "invariant 13: an epoch that does not grow is objected to") {
    register_server(1, 1, 5);
    registry.happened(scene, event::ServerResumed{ServerId(1), eu, 5});
    CHECK(rule() == "invariant 13");
}

TEST_CASE_FIXTURE(JudgesFixture, "F-7: a match that is given up without three low reports is objected to") {
    const LinkNumber server = register_server(1);
    ask();
    offer(server, "MATCH_a");
    acknowledge(server);
    slots.happened(scene, event::MatchAllocated{lobby, eu, ServerId(1), "chat-1", 0s});
    fleet.heard(scene, server, ServerHeartbeat{ServerId(1), 0, 0, 0});
    fleet.heard(scene, server, ServerHeartbeat{ServerId(1), 0, 0, 0});
    fleet.happened(scene, event::MatchEnded{lobby, ServerId(1), "Reported by heartbeat"});
    CHECK(rule() == "F-7");
}

TEST_CASE_FIXTURE(JudgesFixture, "F-7: a match that is lost although the third report counts it is objected to") {
    const LinkNumber before = register_server(1, 2);
    ask();
    offer(before, "MATCH_a");
    acknowledge(before);
    slots.happened(scene, event::MatchAllocated{lobby, eu, ServerId(1), "chat-1", 0s});
    const LinkNumber server = resume_server(1, 2);
    for (int i = 0; i < 3; ++i) fleet.heard(scene, server, ServerHeartbeat{ServerId(1), 1, 0, 0});
    fleet.happened(scene, event::MatchAborted{lobby, ServerId(1), "Lost by server"});
    CHECK(rule() == "F-7");
}

TEST_CASE_FIXTURE(JudgesFixture, "fault 29: a brake for nine servers is objected to") {
    for (std::int32_t id = 1; id <= 9; ++id) register_server(id);
    advance(15s);
    fleet.happened(scene, event::BrakeOn{eu, 9, 9});
    CHECK(rule() == "fault 29");
}

TEST_CASE_FIXTURE(JudgesFixture, "invariants 10 and 11: a silent server that is still a candidate is objected to") {
    muster::testing::CoreWorld world({}, use_simulated_regions);
    const auto joined = muster::testing::join(world, 7001, eu, 1);
    register_server(joined.id.value, 1, world.core->fleet().find(joined.id)->epoch);
    fleet.pass_ended(scene, *world.core);
    CHECK(rule() == "");
    SUBCASE("silent for 31.001 s by the wire, but core has not noticed") {
        advance(31'001ms);
        fleet.pass_ended(scene, *world.core);
        CHECK(rule() == "invariant 10");
    }
    SUBCASE("full by the wire, but a candidate in core") {
        registry.server(joined.id)->drained_by_server = true;
        fleet.pass_ended(scene, *world.core);
        CHECK(rule() == "invariant 12");
    }
    SUBCASE("unknown to the wire") {
        registry.happened(scene, event::ServerRemoved{joined.id, eu, "Server left", false, 0s, 0s});
        fleet.pass_ended(scene, *world.core);
        CHECK(rule() == "invariant 11");
    }
}

TEST_CASE_FIXTURE(
    JudgesFixture,
    "A-6, A-7, invariant 15: what a timer does is late only while due timers are left for the next pass") {
    muster::testing::CoreWorld world({}, use_simulated_regions);
    const LinkNumber server = register_server(1);
    ask();
    std::string expected;
    SUBCASE("a request after 25 s") {
        expected = "A-7";
    }
    SUBCASE("an offer after 5 s") {
        offer(server, "MATCH_a");
        expected = "A-6";
    }
    advance(26s);
    scene.timers_left = true;
    const auto judge = [&] {
        if (expected == "A-7") verdicts.pass_ended(scene, *world.core);
        if (expected == "A-6") slots.pass_ended(scene, *world.core);
        return objections.first() && objections.first()->rule == expected;
    };
    // Other rules look at core, which knows nothing of this request.
    CHECK_FALSE(judge());
    objections = {};
    scene.timers_left = false;
    CHECK(judge());
}

TEST_CASE_FIXTURE(JudgesFixture, "A-10: an event of another kind than the latest is objected to") {
    notices.said(scene, matchmaker_link,
                 AllocationResponse{AllocationResponse::Accepted{lobby, ServerId(1), {}, "MATCH_a", {}}});
    notices.happened(scene, event::MatchStarted{lobby, ServerId(1)});
    notices.said(scene, matchmaker_link, MatchEventNotice{lobby, MatchEventKind::ready, {}});
    // Its event may still follow in this pass.
    CHECK(rule() == "");
    muster::testing::CoreWorld world({}, use_simulated_regions);
    notices.pass_ended(scene, *world.core);
    CHECK(rule() == "A-10");
}

TEST_CASE_FIXTURE(JudgesFixture,
                  "A-10, fault 71: an event that is not told again after its link was lost is objected to") {
    muster::testing::CoreWorld world({}, use_simulated_regions);
    notices.happened(scene, event::MatchAllocated{lobby, eu, ServerId(1), "chat-1", {}});
    notices.said(scene, matchmaker_link,
                 AllocationResponse{AllocationResponse::Accepted{lobby, ServerId(1), {}, "token", {}}});
    notices.happened(scene, event::MatchStarted{lobby, ServerId(1)});
    notices.said(scene, matchmaker_link, MatchEventNotice{lobby, MatchEventKind::started, {}});
    notices.closed(scene, matchmaker_link);
    registry.closed(scene, matchmaker_link);
    CHECK(notices.due() == 1);
    const LinkNumber back = greet_matchmaker("chat-1");
    for (const bool told : {true, false}) {
        if (told) notices.said(scene, back, MatchEventNotice{lobby, MatchEventKind::started, {}});
        if (!told) notices.closed(scene, back);
        for (int i = 0; i < 3; ++i) {
            notices.pass_ended(scene, *world.core);
            advance(1s);
        }
        CHECK(rule() == (told ? "" : "A-10"));
    }
}

TEST_CASE_FIXTURE(
    JudgesFixture,
    "A-10: a cancelled match whose link was lost is to be told within a second of its record, not before") {
    muster::testing::CoreWorld world({}, use_simulated_regions);
    MatchRecord record;
    record.lobby = lobby;
    record.matchmaker = "chat-1";
    record.state = MatchState::aborted;
    record.untold_event = static_cast<std::uint8_t>(MatchEventKind::aborted);
    notices.happened(scene, event::MatchAllocated{lobby, eu, ServerId(1), "chat-1", {}});
    notices.said(scene, matchmaker_link,
                 AllocationResponse{AllocationResponse::Accepted{lobby, ServerId(1), {}, "token", {}}});
    notices.happened(scene, event::MatchStarted{lobby, ServerId(1)});
    notices.said(scene, matchmaker_link, MatchEventNotice{lobby, MatchEventKind::started, {}});
    scene.cause = CancelMatch::code;
    notices.happened(scene, event::MatchAborted{lobby, ServerId(1), std::string(text(Reason::cancelled))});
    scene.cause = 0;
    notices.closed(scene, matchmaker_link);
    registry.closed(scene, matchmaker_link);
    const LinkNumber back = greet_matchmaker("chat-1");
    notices.pass_ended(scene, *world.core);
    // The disk is slow, and there is no pass before it has written.
    advance(10s);
    notices.durable(scene.now, {1, {record}});
    notices.pass_ended(scene, *world.core);
    CHECK(rule() == "");
    SUBCASE("it is told") {
        notices.said(scene, back,
                     MatchEventNotice{lobby, MatchEventKind::aborted, ReasonText(text(Reason::cancelled))});
        advance(1'001ms);
        notices.pass_ended(scene, *world.core);
        CHECK(rule() == "");
    }
    SUBCASE("it is not told") {
        advance(1s);
        notices.pass_ended(scene, *world.core);
        CHECK(rule() == "");
        advance(50ms);
        notices.pass_ended(scene, *world.core);
        CHECK(rule() == "A-10");
    }
}

TEST_CASE_FIXTURE(JudgesFixture,
                  "A-9, fault 72: after a restart a match is asked about on its own server, with its token only") {
    muster::testing::CoreWorld world({}, use_simulated_regions);
    MatchRecord match;
    match.lobby = lobby;
    match.matchmaker = "chat-1";
    match.region = eu;
    match.player_count = 2;
    match.state = MatchState::allocated;
    match.server = ServerId(1);
    match.token = "token";
    slots.durable(scene.now, {1, {match}});
    slots.run_began(scene, *world.core);
    const LinkNumber server = register_server(1);
    offer(server, "token");
    CHECK(rule().empty());
    offer(server, "another");
    CHECK(rule() == "A-6");
}
