// What a server or a matchmaker says of a match is answered when it is durable, so that no crash undoes an answer.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

// Lobby 1 runs on the server, and the store takes its time from now on.
struct SlowDisk : CoreWorld {
    SlowDisk() { store.holding = true; }

    void fail_store() {
        store.fault = StoreFault::full;
        store.holding = false;
        settle();
    }
    const Match* find(std::int32_t lobby) const { return core->matches().find(LobbyId(lobby)); }

    TestServer server = join(*this, 7001);
    ConnectionId matchmaker = join_matchmaker(*this);
    TestMatch match = allocate(*this, matchmaker, server, 1);
};

}  // namespace

TEST_CASE_FIXTURE(SlowDisk, "A-10, invariant 3: READY, STARTED and ENDED hold at once, and are answered when durable") {
    send(server.link, ReadyForMatch{server.id, match.lobby, MatchTokenText(match.token)});
    CHECK(quiet(server.link));
    CHECK(find(1)->record.state == MatchState::ready);
    CHECK(next<MatchEventNotice>(matchmaker).event == MatchEventKind::ready);
    commit();
    CHECK(error_of(next<ReadyForMatchResponse>(server.link)) == "");

    send(server.link, MatchStartedReport{server.id, match.lobby});
    CHECK(quiet(server.link));
    send(server.link, MatchEndedReport{server.id, match.lobby});
    CHECK(quiet(server.link));
    CHECK(find(1) == nullptr);
    CHECK(state_of(*this, server).held == 0);  // its slot is free already
    commit();
    CHECK(error_of(next<MatchResponse>(server.link)) == "");
    CHECK(error_of(next<MatchResponse>(server.link)) == "");
}

TEST_CASE_FIXTURE(SlowDisk, "A-10: a repeated ENDED is answered no sooner than the first") {
    send(server.link, MatchEndedReport{server.id, match.lobby});
    send(server.link, MatchEndedReport{server.id, match.lobby});
    CHECK(quiet(server.link));
    commit();
    CHECK(error_of(next<MatchResponse>(server.link)) == "");
    CHECK(error_of(next<MatchResponse>(server.link)) == "");
}

TEST_CASE_FIXTURE(SlowDisk, "X-4, fault 4: with the disk full a report holds, and its server is told to say it again") {
    send(server.link, MatchEndedReport{server.id, match.lobby});
    fail_store();
    CHECK(error_of(next<MatchResponse>(server.link)) == "Store unavailable");
    CHECK(find(1) == nullptr);
    CHECK(state_of(*this, server).held == 0);
    // Known to be full by now.
    CHECK(report_error<MatchEndedReport>(*this, server, 1) == "Store unavailable");
    store.fault = StoreFault::none;
    advance(2s);
    CHECK(report_error<MatchEndedReport>(*this, server, 1) == "");
}

TEST_CASE_FIXTURE(SlowDisk, "F-5, invariant 3: a server's own drain holds at once, and is answered when durable") {
    send(server.link, SetDraining{server.id, true});
    CHECK(quiet(server.link));
    CHECK(state_of(*this, server).status() == ServerStatus::draining);
    commit();
    CHECK(next<ServerStatusNotice>(server.link).status == ServerStatus::draining);

    send(server.link, SetDraining{server.id, false});
    fail_store();
    CHECK(next<ServerError>(server.link).error == "Store unavailable");
    CHECK(state_of(*this, server).status() == ServerStatus::available);
}

TEST_CASE_FIXTURE(
    SlowDisk, "A-11, invariant 3: a cancel frees the slot at once, and server and matchmaker hear when it is durable") {
    send(server.link, MatchStartedReport{server.id, match.lobby});
    commit();
    next<MatchResponse>(server.link);
    next<MatchEventNotice>(matchmaker);

    send(matchmaker, CancelMatch{match.lobby});
    CHECK(find(1) == nullptr);
    CHECK(state_of(*this, server).held == 0);
    CHECK(quiet(server.link));
    CHECK(quiet(matchmaker));
    commit();
    CHECK(next<AbortMatch>(server.link).lobby == match.lobby);
    CHECK(next<MatchEventNotice>(matchmaker).reason == "Cancelled");
}

TEST_CASE_FIXTURE(SlowDisk,
                  "N-4, N-9: who asks again while another node may have the cell waits, and nobody else does") {
    store.window_shut = true;
    send(matchmaker, request_for(1));
    CHECK(quiet(matchmaker));
    send(server.link, ServerHeartbeat{server.id, 1, 5, 5});
    next<ServerHeartbeatAck>(server.link);
    send(matchmaker, MatchmakerHeartbeat{});
    next<MatchmakerHeartbeatAck>(matchmaker);
    // A batch of ours is durable: nobody has taken over.
    store.window_shut = false;
    commit();
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "");

    store.window_shut = true;
    send(matchmaker, request_for(1));
    advance(24'999ms);
    CHECK(quiet(matchmaker));
    advance(1ms);
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Store unavailable");
    commit();
    CHECK(quiet(matchmaker));

    store.doubt = true;
    send(matchmaker, request_for(1));
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Store unavailable");
    CHECK(find(1) != nullptr);  // it was promised, and stands
}

TEST_CASE_FIXTURE(SlowDisk, "N-4, A-9: a success that may not be answered in time is a refusal, and is taken back") {
    send(matchmaker, request_for(2));
    commit();
    CHECK(next<AllocateMatch>(server.link).lobby == LobbyId(2));
    advance(3s);
    store.window_shut = true;
    send(server.link, AllocateMatchAck{true, LobbyId(2)});
    CHECK(quiet(matchmaker));
    advance(21'999ms);
    CHECK(quiet(matchmaker));
    advance(1ms);
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Store unavailable");
    CHECK(find(2) == nullptr);
    commit();
    CHECK(next<AbortMatch>(server.link).lobby == LobbyId(2));
}

TEST_CASE_FIXTURE(SlowDisk, "A-7, W-8: a report or a cancel waits 25 s for the disk, and holds up nobody for longer") {
    send(server.link, MatchStartedReport{server.id, match.lobby});
    advance(24'999ms);
    CHECK(quiet(server.link));
    advance(1ms);
    CHECK(error_of(next<MatchResponse>(server.link)) == "Store unavailable");
    forget_frames(matchmaker);
    send(matchmaker, CancelMatch{match.lobby});
    send(matchmaker, request_for(1));
    CHECK(quiet(matchmaker));
    advance(25s);
    CHECK(next<MatchEventNotice>(matchmaker).reason == "Cancelled");
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Invalid match lobby ID");
    // Durable at last: nothing is said twice, and the server hears of the abort.
    commit();
    CHECK(quiet(matchmaker));
    CHECK(next<AbortMatch>(server.link).lobby == match.lobby);
    CHECK(quiet(server.link));
}

TEST_CASE_FIXTURE(SlowDisk, "A-11, X-4: without the disk a cancel is told to both at once") {
    send(matchmaker, CancelMatch{match.lobby});
    fail_store();
    CHECK(next<AbortMatch>(server.link).lobby == match.lobby);
    CHECK(next<MatchEventNotice>(matchmaker).reason == "Cancelled");
}

TEST_CASE_FIXTURE(SlowDisk, "A-11: the next match is offered behind the abort whose slot it takes") {
    send(matchmaker, CancelMatch{match.lobby});
    send(matchmaker, request_for(2));
    CHECK(quiet(server.link));
    commit();
    CHECK(next<AbortMatch>(server.link).lobby == match.lobby);
    CHECK(next<AllocateMatch>(server.link).lobby == LobbyId(2));
}

TEST_CASE_FIXTURE(CoreWorld, "F-7: of matches of an earlier registration as many are lost as the reports lack") {
    const TestServer before = join(*this, 7001);
    const ConnectionId matchmaker = join_matchmaker(*this);
    for (const std::int32_t lobby : {1, 2, 3, 4, 5}) allocate(*this, matchmaker, before, lobby);
    disconnect(before.link);
    const TestServer server = join(*this, 7001);
    REQUIRE(server.id == before.id);
    CHECK(report_error<MatchEndedReport>(*this, server, 5) == "");  // it speaks of its matches
    CHECK(next<MatchEventNotice>(matchmaker).event == MatchEventKind::ended);
    for (int i = 0; i < 3; ++i) CHECK(heartbeat_error(*this, server, beat_of(server, 3)) == "");
    CHECK(core->matches().find(LobbyId(1)) == nullptr);
    for (const std::int32_t lobby : {2, 3, 4}) CHECK(core->matches().find(LobbyId(lobby)) != nullptr);
    const auto lost = next<MatchEventNotice>(matchmaker);
    CHECK(lost.event == MatchEventKind::aborted);
    CHECK(lost.reason == "Lost by server");
    CHECK(quiet(matchmaker));
}

TEST_CASE_FIXTURE(
    CoreWorld,
    "F-7: a server that speaks by its count alone still runs when it counts earlier matches: the rest ended") {
    const TestServer before = join(*this, 7001);
    const ConnectionId matchmaker = join_matchmaker(*this);
    for (const std::int32_t lobby : {1, 2, 3}) allocate(*this, matchmaker, before, lobby);
    disconnect(before.link);
    const TestServer server = join(*this, 7001);
    for (int i = 0; i < 3; ++i) CHECK(heartbeat_error(*this, server, beat_of(server, 2)) == "");
    const auto over = next<MatchEventNotice>(matchmaker);
    CHECK(over.lobby == LobbyId(1));
    CHECK(over.event == MatchEventKind::ended);
    CHECK(over.reason == "Reported by heartbeat");
    CHECK(quiet(matchmaker));
    CHECK(core->matches().find(LobbyId(2)) != nullptr);
}
