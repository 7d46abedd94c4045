// The judge of promises can fail: what was promised is not on the disk, or is gone after a restart.
#include <doctest/doctest.h>

#include "core/core_fixture.h"
#include "sim/judges_fixture.h"

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

MatchRecord allocated_record() {
    MatchRecord record;
    record.lobby = lobby;
    record.state = MatchState::allocated;
    record.server = ServerId(1);
    record.server_ip = "10.0.0.1";
    record.server_port = 7001;
    record.token = "MATCH_a";
    return record;
}

AllocationResponse success() {
    return {AllocationResponse::Accepted{lobby, ServerId(1), {"10.0.0.1", 7001}, "MATCH_a", {}}};
}

}  // namespace

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

TEST_CASE_FIXTURE(JudgesFixture, "invariant 14: a success that is gone after a restart is objected to") {
    promises.durable(scene.now, {1, {allocated_record()}});
    promises.said(scene, matchmaker_link, success());
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
        promises.said(scene, matchmaker_link, success());
    }
    CHECK(rule() == "invariant 3");
}

TEST_CASE_FIXTURE(JudgesFixture,
                  "invariant 3, A-11: a cancel is answered without the disk only if its promise may have been broken") {
    muster::testing::CoreWorld world({}, [](CoreConfig& config) {
        use_simulated_regions(config);
        config.ledger.promises_waiting = 1;
    });
    promises.durable(scene.now, {1, {allocated_record()}});
    promises.said(scene, matchmaker_link, success());
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
