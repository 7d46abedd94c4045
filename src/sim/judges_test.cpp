// The judges can fail: what a correct core never does is told to them by hand, and the right one objects.
#include <doctest/doctest.h>

#include "core/core_fixture.h"
#include "sim/drop_judge.h"
#include "sim/fleet_judge.h"
#include "sim/notice_judge.h"
#include "sim/promise_judge.h"
#include "sim/registry.h"
#include "sim/scenario.h"
#include "sim/slot_judge.h"
#include "sim/token_judge.h"
#include "sim/verdict_judge.h"

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

constexpr RegionId eu = region_ids[0];
constexpr LobbyId lobby{12345};

// Judges without a court: what they hear is written down here.
struct JudgesFixture {
    JudgesFixture() { matchmaker_link = greet_matchmaker("chat-1"); }

    std::string rule() const { return objections.first() ? objections.first()->rule : ""; }

    LinkNumber greet_matchmaker(const std::string& id) {
        const LinkNumber link = ++last_link;
        registry.opened(scene, link, Port::matchmakers);
        registry.heard(scene, link, MatchmakerHandshake{"secret", MatchmakerIdText(id), {{eu}}});
        registry.said(scene, link, MatchmakerHandshakeResponse{MatchmakerHandshakeResponse::Accepted{}});
        return link;
    }
    LinkNumber register_server(std::int32_t id, std::int32_t max_matches = 1, std::int64_t epoch = 1) {
        return greet_server(id, max_matches, event::ServerRegistered{ServerId(id), eu, "10.0.0.1", max_matches, epoch});
    }
    LinkNumber resume_server(std::int32_t id, std::int64_t epoch) {
        return greet_server(id, 1, event::ServerResumed{ServerId(id), eu, epoch});
    }
    LinkNumber greet_server(std::int32_t id, std::int32_t max_matches, const auto& became) {
        const LinkNumber link = ++last_link;
        registry.opened(scene, link, Port::servers);
        registry.heard(scene, link, ServerHandshake{"secret", {"10.0.0.1", 7000 + id}, eu, max_matches});
        registry.happened(scene, became);
        registry.said(scene, link, ServerHandshakeResponse{ServerHandshakeResponse::Accepted{ServerId(id), {}}});
        return link;
    }
    void ask() {
        const AllocationRequest request{lobby, 6, 0, eu, 2, 1650};
        slots.heard(scene, matchmaker_link, request);
        verdicts.heard(scene, matchmaker_link, request);
    }
    void offer(LinkNumber link, const char* token) {
        if (const KnownServer* server = registry.speaker(link); server && slots.lobby(lobby)->seeking)
            slots.happened(scene, event::MatchOffered{lobby, eu, server->id, 1, {}, {}});
        slots.said(scene, link, AllocateMatch{lobby, 6, 0, token});
    }
    void acknowledge(LinkNumber link) {
        slots.heard(scene, link, AllocateMatchAck{true, lobby});
        tokens.heard(scene, link, AllocateMatchAck{true, lobby});
    }
    void advance(Duration by) {
        scene.now += by;
        scene.running += by;
    }

    Scene scene{.now = Time(1h), .running = Time(1h), .cause = 0, .cause_link = 0, .cause_lobby = {}};
    Objections objections;
    Registry registry{objections};
    SlotJudge slots{objections, registry};
    FleetJudge fleet{objections, registry, slots};
    TokenJudge tokens{objections, registry, slots};
    VerdictJudge verdicts{objections, registry, slots, tokens};
    NoticeJudge notices{objections, registry, slots, verdicts};
    PromiseJudge promises{objections, registry, verdicts};
    DropJudge drops{objections, registry, slots};
    LinkNumber last_link = 0;
    LinkNumber matchmaker_link = 0;
};

void use_simulated_regions(CoreConfig& config) {
    config.fleet.regions.clear();
    for (const RegionId region : region_ids) config.fleet.regions.push_back({region, "region"});
    config.matchmakers.regions = config.fleet.regions;
}

}  // namespace

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

TEST_CASE_FIXTURE(JudgesFixture,
                  "invariant 3: a report and a cancel that are answered before the disk are objected to") {
    const LinkNumber server = register_server(1);
    MatchRecord record;
    record.lobby = lobby;
    record.state = MatchState::started;
    promises.durable(scene.now, {1, {record}});
    SUBCASE("a report") {
        promises.heard(scene, server, MatchStartedReport{ServerId(1), lobby});
        promises.heard(scene, server, MatchEndedReport{ServerId(1), lobby});
        promises.said(scene, server, MatchResponse{LobbyAccepted{lobby}});
        CHECK(rule() == "");
        promises.said(scene, server, MatchResponse{LobbyAccepted{lobby}});
    }
    SUBCASE("a cancel") {
        record.token = "MATCH_a";
        promises.durable(scene.now, {2, {record}});
        promises.said(scene, matchmaker_link,
                      AllocationResponse{AllocationResponse::Accepted{lobby, {}, {"", 0}, "MATCH_a", {}}});
        promises.heard(scene, matchmaker_link, CancelMatch{lobby});
        promises.said(scene, matchmaker_link,
                      MatchEventNotice{lobby, MatchEventKind::aborted, ReasonText("Cancelled")});
        CHECK(rule() == "");
        muster::testing::CoreWorld world({}, use_simulated_regions);
        promises.pass_ended(scene, *world.core);
    }
    CHECK(rule() == "invariant 3");
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

TEST_CASE_FIXTURE(JudgesFixture, "invariant 14: a success that is gone after a restart is objected to") {
    MatchRecord record;
    record.lobby = lobby;
    record.state = MatchState::allocated;
    record.server = ServerId(1);
    record.server_ip = "10.0.0.1";
    record.server_port = 7001;
    record.token = "MATCH_a";
    promises.durable(scene.now, {1, {record}});
    promises.said(
        scene, matchmaker_link,
        AllocationResponse{AllocationResponse::Accepted{lobby, ServerId(1), {"10.0.0.1", 7001}, "MATCH_a", {}}});
    CHECK(rule() == "");
    muster::testing::CoreWorld empty({}, use_simulated_regions);
    promises.run_began(scene, *empty.core);
    CHECK(rule() == "invariant 14");
}

TEST_CASE_FIXTURE(JudgesFixture,
                  "invariant 3, fault 65: a success or an offer that is not on the disk is objected to") {
    const LinkNumber server = register_server(1);
    SUBCASE("an offer") {
        promises.said(scene, server, AllocateMatch{lobby, 6, 0, "MATCH_a"});
    }
    SUBCASE("a success") {
        promises.said(
            scene, matchmaker_link,
            AllocationResponse{AllocationResponse::Accepted{lobby, ServerId(1), {"10.0.0.1", 7001}, "MATCH_a", {}}});
    }
    CHECK(rule() == "invariant 3");
}

TEST_CASE_FIXTURE(JudgesFixture,
                  "invariant 3, A-11: a cancel is answered without the disk only if its promise may have been broken") {
    muster::testing::CoreWorld world({}, [](CoreConfig& config) {
        use_simulated_regions(config);
        config.ledger.promises_waiting = 1;
    });
    MatchRecord record;
    record.lobby = lobby;
    record.state = MatchState::allocated;
    record.server = ServerId(1);
    record.server_ip = "10.0.0.1";
    record.server_port = 7001;
    record.token = "MATCH_a";
    promises.durable(scene.now, {1, {record}});
    promises.said(
        scene, matchmaker_link,
        AllocationResponse{AllocationResponse::Accepted{lobby, ServerId(1), {"10.0.0.1", 7001}, "MATCH_a", {}}});
    const auto hear = [&](const auto& message) {
        promises.heard(scene, matchmaker_link, message);
        verdicts.heard(scene, matchmaker_link, message);
    };
    const auto say = [&](const auto& message) {
        promises.said(scene, matchmaker_link, message);
        verdicts.said(scene, matchmaker_link, message);
    };
    // As many promises wait as may, or none: of three the store refuses one, one waits, and one is broken.
    const auto end_pass = [&](bool congested) {
        world.store.room = congested ? 0 : 1'000;
        for (int i = 0; congested && i < 3; ++i)
            world.in_pass([&](const Pass&) { world.core->answer_when_durable(1); });
        world.advance(1s);
        CHECK(world.core->ledger().promises_waiting() == (congested ? 1 : 0));
        promises.pass_ended(scene, *world.core);
    };
    const MatchPlayersResponse list_taken{LobbyAccepted{lobby}};
    bool behind_list = false;
    bool congested_before = false;
    bool congested_then = false;
    std::string expected = "invariant 3";
    SUBCASE("the disk is there") {}
    SUBCASE("the ledger breaks promises") {
        congested_then = true;
        expected = "";
    }
    SUBCASE("the ledger broke promises before, and nothing held the answer back") {
        congested_before = true;
    }
    SUBCASE("the ledger broke promises before, and the answer waited for another about its lobby") {
        behind_list = true;
        congested_before = true;
        expected = "";
    }
    SUBCASE("the answer waited for another about its lobby, with the disk there all the time") {
        behind_list = true;
    }
    if (behind_list) {
        promises.durable(scene.now, {2, {PlayersRecord{lobby, "chat-1", {AccountId(1)}}}});
        hear(MatchPlayers{lobby, {{AccountId(1)}}});
    }
    hear(CancelMatch{lobby});
    end_pass(congested_before);
    if (behind_list) say(list_taken);
    say(MatchEventNotice{lobby, MatchEventKind::aborted, ReasonText(text(Reason::cancelled))});
    CHECK(rule() == "");
    end_pass(congested_then);
    CHECK(rule() == expected);
}

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
