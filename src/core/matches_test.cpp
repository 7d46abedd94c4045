#include "core/matches.h"

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

TEST_CASE_FIXTURE(CoreWorld,
                  "A-2: a request is checked in the order lobby, region, player count, and a refusal takes nothing") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = connect(Port::matchmakers);
    send(matchmaker, MatchmakerHandshake{"matchmaker-secret", "chat-1", {{eu}}});
    forget_frames(matchmaker);
    CHECK(request_error(*this, matchmaker, {LobbyId(0), 0, 0, RegionId(77), 0, 0}) == "Invalid match lobby ID");
    CHECK(request_error(*this, matchmaker, {LobbyId(-5), 0, 0, eu, 10, 0}) == "Invalid match lobby ID");
    CHECK(request_error(*this, matchmaker, {LobbyId(1), 0, 0, RegionId(77), 0, 0}) == "Region not supported");
    CHECK(request_error(*this, matchmaker, {LobbyId(1), 0, 0, use, 0, 0}) ==
          "Region not supported");  // not among those it named
    CHECK(request_error(*this, matchmaker, {LobbyId(1), 0, 0, eu, 0, 0}) == "Invalid player count");
    CHECK(request_error(*this, matchmaker, {LobbyId(1), 0, 0, eu, -1, 0}) == "Invalid player count");
    CHECK(core->fleet().find(server.id)->load() == 0);
    CHECK(core->matches().size() == 0);
    CHECK(quiet(server.link));
}

TEST_CASE_FIXTURE(CoreWorld, "A-2: another matchmaker's lobby is refused, and so is one that ended or was aborted") {
    const TestServer server = join(*this, 7777);
    const ConnectionId one = join_matchmaker(*this, "one");
    const ConnectionId two = join_matchmaker(*this, "two");
    allocate(*this, one, server, 5);
    CHECK(request_error(*this, two, request_for(5)) == "Invalid match lobby ID");
    CHECK(report_error<MatchEndedReport>(*this, server, 5) == "");
    forget_frames(one);
    CHECK(request_error(*this, one, request_for(5)) == "Invalid match lobby ID");
    send(one, MatchPlayers{LobbyId(9), {{AccountId(1)}}});
    CHECK(error_of(next<MatchPlayersResponse>(one)) == "");
    CHECK(request_error(*this, two, request_for(9)) == "Invalid match lobby ID");
}

TEST_CASE("A-2, fault 66: beyond the requests in flight the answer is Server busy, at once") {
    CoreWorld world({}, [](CoreConfig& config) { config.matches.in_flight_max = 2; });
    const TestServer server = join(world, 7777);
    const ConnectionId matchmaker = join_matchmaker(world);
    const ConnectionId other = join_matchmaker(world, "other");
    world.send(matchmaker, request_for(1));
    world.send(matchmaker, request_for(2));
    CHECK(request_error(world, other, request_for(3)) == "Server busy");
    world.forget_frames(server.link);
    world.send(server.link, AllocateMatchAck{true, LobbyId(1)});
    world.send(other, request_for(3));
    CHECK(world.next<AllocateMatch>(server.link).lobby == LobbyId(3));
}

TEST_CASE("A-7, fault 63: the whole request ends within 25 s, with a failure and never a late success") {
    CoreWorld world({}, [](CoreConfig& config) { config.matches.ack_timeout = 60s; });
    const TestServer server = join(world, 7777);
    const ConnectionId matchmaker = join_matchmaker(world);
    world.send(matchmaker, request_for(1));
    world.next<AllocateMatch>(server.link);
    for (int i = 0; i < 2; ++i) {
        world.advance(10s);
        world.send(server.link, beat_of(server));
        world.next<ServerHeartbeatAck>(server.link);
    }
    world.advance(4'999ms);
    CHECK(world.quiet(matchmaker));
    world.advance(1ms);
    CHECK(error_of(world.next<AllocationResponse>(matchmaker)) == "Server allocation timeout");
    CHECK(world.next<AbortMatch>(server.link).lobby == LobbyId(1));
    world.send(server.link, AllocateMatchAck{true, LobbyId(1)});
    CHECK(world.quiet(matchmaker));
}

TEST_CASE_FIXTURE(CoreWorld,
                  "A-8: asking again joins the allocation and gets the same answer, whatever else it asks for") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    send(matchmaker, AllocationRequest{LobbyId(1), 9, 9, use, -3, 0});
    const auto offer = next<AllocateMatch>(server.link);
    CHECK(quiet(server.link));
    send(server.link, AllocateMatchAck{true, offer.lobby});
    const auto first = next<AllocationResponse>(matchmaker);
    CHECK(error_of(first) == "");
    CHECK(next<AllocationResponse>(matchmaker) == first);
    send(matchmaker, request_for(1));
    CHECK(next<AllocationResponse>(matchmaker) == first);
    CHECK(core->fleet().find(server.id)->held == 1);
}

TEST_CASE_FIXTURE(CoreWorld,
                  "A-8, fault 62: the matchmaker leaves while waiting, and the answer is kept until it asks again") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    disconnect(matchmaker);
    const auto offer = next<AllocateMatch>(server.link);
    send(server.link, AllocateMatchAck{true, offer.lobby});
    const ConnectionId back = join_matchmaker(*this);
    send(back, request_for(1));
    const auto answer = next<AllocationResponse>(back);
    CHECK(std::get<AllocationResponse::Accepted>(answer.answer).token == offer.token);
    CHECK(quiet(server.link));
}

TEST_CASE_FIXTURE(CoreWorld, "A-9: the answer leaves only after the allocation is durable") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    store.holding = true;
    send(matchmaker, request_for(1));
    send(server.link, AllocateMatchAck{true, next<AllocateMatch>(server.link).lobby});
    CHECK(quiet(matchmaker));
    send(server.link,
         ReadyForMatch{server.id, LobbyId(1), MatchTokenText(core->matches().find(LobbyId(1))->record.token)});
    CHECK(error_of(next<ReadyForMatchResponse>(server.link)) == "");
    CHECK(quiet(matchmaker));  // no event before its 2003
    commit();
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "");
    CHECK(next<MatchEventNotice>(matchmaker).event == MatchEventKind::ready);
}

TEST_CASE_FIXTURE(CoreWorld, "A-9: a commit too slow for the 25 s is answered as a failure and withdrawn") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    store.holding = true;
    send(matchmaker, request_for(1));
    send(server.link, AllocateMatchAck{true, next<AllocateMatch>(server.link).lobby});
    for (int i = 0; i < 3; ++i) {
        advance(i < 2 ? 10s : 5s);
        send(server.link, beat_of(server));
        if (i < 2) next<ServerHeartbeatAck>(server.link);
    }
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Store unavailable");
    CHECK(next<AbortMatch>(server.link).lobby == LobbyId(1));
    CHECK(core->fleet().find(server.id)->held == 0);
    commit();
    CHECK(quiet(matchmaker));
    REQUIRE_FALSE(store.durable.empty());
    bool forgotten = false;
    for (const Record& record : store.durable) forgotten |= std::holds_alternative<MatchForgotten>(record);
    CHECK(forgotten);
}

TEST_CASE_FIXTURE(CoreWorld, "A-9: a match that nobody used when its token expires is withdrawn") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, server, 1);
    for (int i = 0; i < 12; ++i) {
        CHECK(quiet(matchmaker));
        advance(10s);
        send(server.link, beat_of(server, 1));
        send(matchmaker, MatchmakerHeartbeat{});
        if (i < 11) next<MatchmakerHeartbeatAck>(matchmaker);
    }
    const auto event = next<MatchEventNotice>(matchmaker);
    CHECK(event.event == MatchEventKind::aborted);
    CHECK(event.reason == "Match token expired");
    CHECK(core->fleet().find(server.id)->held == 0);
}

TEST_CASE_FIXTURE(CoreWorld, "X-3: shutting down refuses new requests and fails those in flight, matches stay") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, server, 1);
    send(matchmaker, request_for(2));
    next<AllocateMatch>(server.link);
    in_pass([this](const Pass& pass) { core->shut_down(pass); });
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Server shutting down");
    CHECK(next<AbortMatch>(server.link).lobby == LobbyId(2));
    CHECK(request_error(*this, matchmaker, request_for(3)) == "Server shutting down");
    CHECK(core->matches().find(LobbyId(1)) != nullptr);
}

TEST_CASE_FIXTURE(CoreWorld, "A-13, invariant 20: requests are successes, failures and those in flight") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    for (int lobby = 1; lobby <= 3; ++lobby) allocate(*this, matchmaker, server, lobby);
    CHECK(request_error(*this, matchmaker, {LobbyId(-1), 0, 0, eu, 10, 0}) == "Invalid match lobby ID");
    send(matchmaker, request_for(9));
    const Telemetry::OfRegion& figures = core->telemetry().of(eu);
    CHECK(core->matches().figures().requests.at(eu) == 5);
    CHECK(figures.allocations == 3);
    CHECK(figures.failures.at("invalid_match_lobby_id") == 1);
    CHECK(core->matches().in_flight() == 1);
    CHECK(figures.allocation_seconds.count() == 3);
}

TEST_CASE_FIXTURE(CoreWorld, "A-12: equal servers get shares within 10 % over 10,000 requests") {
    std::vector<TestServer> servers;
    for (int i = 0; i < 10; ++i) servers.push_back(join(*this, 7000 + i, eu, 5'000));
    const ConnectionId matchmaker = join_matchmaker(*this);
    for (int lobby = 1; lobby <= 10'000; ++lobby) {
        send(matchmaker, request_for(lobby));
        for (const TestServer& server : servers) {
            if (quiet(server.link)) continue;
            send(server.link, AllocateMatchAck{true, next<AllocateMatch>(server.link).lobby});
        }
        forget_frames(matchmaker);
        store.durable.clear();
        event_names.clear();
    }
    for (const TestServer& server : servers) {
        const auto choices = core->fleet().find(server.id)->choices;
        CHECK(choices >= 900);
        CHECK(choices <= 1'100);
    }
}
