#include "core/matches.h"

#include <algorithm>
#include <functional>
#include <variant>
#include <vector>

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

TEST_CASE_FIXTURE(CoreWorld, "N-8: another cell's lobby is refused, no server and no player hears of it") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, MatchPlayers{LobbyId(5), {{AccountId(1)}}});
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    const ConnectionId player = connect(Port::players);
    send(player, PlayerLogin{"one", "", ""});
    forget_frames(player);
    store.anothers = LobbyId(5);
    CHECK(request_error(*this, matchmaker, request_for(5)) == "Invalid match lobby ID");
    CHECK(quiet(server.link));
    CHECK(quiet(player));
    CHECK(core->fleet().find(server.id)->load() == 0);
    CHECK(core->matches().size() == 0);
    CHECK(core->ledger().store_up());
    allocate(*this, matchmaker, server, 6);

    store.anothers.reset();  // the other cell has forgotten it
    forget_frames(matchmaker);
    CHECK(allocate(*this, matchmaker, server, 5).lobby == LobbyId(5));
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

TEST_CASE("A-2: a matchmaker whose servers never acknowledge leaves room for the others") {
    CoreWorld world({}, [](CoreConfig& config) { config.matches.in_flight_max = 9; });
    join(world, 7777, CoreWorld::eu, 100);
    const ConnectionId greedy = join_matchmaker(world);
    const ConnectionId other = join_matchmaker(world, "other");
    for (int lobby = 1; lobby <= 8; ++lobby) world.send(greedy, request_for(lobby));
    CHECK(world.core->matches().in_flight() == 8);
    CHECK(request_error(world, greedy, request_for(9)) == "Server busy");
    world.send(other, request_for(10));
    CHECK(world.core->matches().in_flight() == 9);
    CHECK(request_error(world, other, request_for(11)) == "Server busy");
    world.advance(5s);  // no offer was acknowledged, and there is no other server
    CHECK(world.core->matches().in_flight() == 0);
    world.send(greedy, request_for(12));
    CHECK(world.core->matches().in_flight() == 1);
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

TEST_CASE_FIXTURE(
    CoreWorld, "A-9, fault 65: a server is asked once its offer is durable, and its yes is answered without the disk") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    store.holding = true;
    send(matchmaker, request_for(1));
    CHECK(quiet(server.link));
    CHECK(core->fleet().find(server.id)->load() == 1);  // its slot is taken meanwhile
    commit();
    const auto offer = next<AllocateMatch>(server.link);
    const auto is_the_offer = [&](const Record& record) {
        const auto* match = std::get_if<MatchRecord>(&record);
        return match && match->state == MatchState::offering && match->server == server.id &&
               match->token == offer.token.view() && match->matchmaker == "chat-1";
    };
    CHECK(std::any_of(store.durable.begin(), store.durable.end(), is_the_offer));
    CHECK(quiet(matchmaker));
    send(server.link, AllocateMatchAck{true, offer.lobby});
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "");
    CHECK(core->matches().in_flight() == 0);
    send(server.link, ReadyForMatch{server.id, LobbyId(1), offer.token});
    CHECK(next<MatchEventNotice>(matchmaker).event == MatchEventKind::ready);
    // In the order in which it happened: what is durable of the later implies the earlier.
    commit();
    CHECK(error_of(next<ReadyForMatchResponse>(server.link)) == "");
    std::vector<MatchState> states;
    for (const Record& record : store.durable) {
        if (const auto* match = std::get_if<MatchRecord>(&record)) states.push_back(match->state);
    }
    CHECK(states == std::vector{MatchState::offering, MatchState::allocated, MatchState::ready});
}

TEST_CASE_FIXTURE(CoreWorld, "A-9: a commit too slow for the 25 s is answered as a failure and withdrawn") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    store.holding = true;
    send(matchmaker, request_for(1));
    for (int i = 0; i < 3; ++i) {
        advance(i < 2 ? 10s : 4'999ms);
        send(server.link, beat_of(server));
        next<ServerHeartbeatAck>(server.link);
    }
    CHECK(quiet(matchmaker));
    advance(1ms);
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Store unavailable");
    CHECK(core->fleet().find(server.id)->load() == 0);
    commit();
    CHECK(quiet(server.link));  // it never heard of it
    CHECK(quiet(matchmaker));
    const auto is_of_the_lobby = [](const Record& record) {
        return std::holds_alternative<MatchRecord>(record) || std::holds_alternative<MatchForgotten>(record);
    };
    const auto last = std::find_if(store.durable.rbegin(), store.durable.rend(), is_of_the_lobby);
    REQUIRE(last != store.durable.rend());
    CHECK(std::holds_alternative<MatchForgotten>(*last));
}

TEST_CASE_FIXTURE(CoreWorld, "A-6, A-7: the 5 s of an answer begin when the server is asked, the 25 s when Muster is") {
    const TestServer one = join(*this, 7777);
    const TestServer two = join(*this, 7778);
    const ConnectionId matchmaker = join_matchmaker(*this);
    const auto stay_alive = [&] {
        for (const TestServer& server : {one, two}) send(server.link, beat_of(server));
        for (const TestServer& server : {one, two}) forget_frames(server.link);
    };
    store.holding = true;
    send(matchmaker, request_for(1));
    advance(9s);
    stay_alive();
    advance(9s);
    stay_alive();
    CHECK(quiet(matchmaker));
    commit();
    next<AllocateMatch>(one.link);
    advance(4'999ms);
    CHECK(quiet(one.link));
    advance(1ms);
    CHECK(next<AbortMatch>(one.link).lobby == LobbyId(1));
    CHECK(quiet(two.link));  // its record is on the way to the disk
    advance(1'999ms);
    CHECK(quiet(matchmaker));
    advance(1ms);
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Store unavailable");
    commit();
    CHECK(quiet(two.link));
}

TEST_CASE_FIXTURE(
    CoreWorld,
    "A-7, F-5, F-9: a server that went, came back, drains or ran full while its offer waits is passed over, unheard") {
    const ConnectionId matchmaker = join_matchmaker(*this);
    int lobby = 0;
    const std::vector<std::function<void(const TestServer&)>> changes = {
        [this](const TestServer& server) { disconnect(server.link); },
        [this](const TestServer& server) { send(server.link, SetDraining{server.id, true}); },
        [this](const TestServer& server) { CHECK(core->drain(server.id, true)); },
        [this](const TestServer& server) { send(server.link, ServerGoodbye{server.id}); },
        [this](const TestServer& server) { send(server.link, beat_of(server, 10)); },  // full, of others' matches
        [this, &lobby](const TestServer& server) {
            disconnect(server.link);
            (void)join(*this, 7000 + lobby, RegionId(1));
        },
    };
    for (const auto& change : changes) {
        ++lobby;
        const TestServer best = join(*this, 7000 + lobby, RegionId(1));
        store.holding = true;
        send(matchmaker, request_for(lobby, RegionId(1)));
        const TestServer next_best = join(*this, 8000 + lobby, RegionId(1));
        const std::size_t owed_before = core->fleet().owed_aborts().size();
        change(best);
        commit();
        commit();
        CHECK(std::none_of(links.peers[best.link].frames.begin(), links.peers[best.link].frames.end(),
                           [](const auto& frame) { return frame.code == AllocateMatch::code; }));
        const auto offer = next<AllocateMatch>(next_best.link);
        send(next_best.link, AllocateMatchAck{true, offer.lobby});
        CHECK(error_of(next<AllocationResponse>(matchmaker)) == "");
        store.holding = false;
        settle();
        CHECK(core->fleet().owed_aborts().size() == owed_before);  // nobody has to drop anything
        send(next_best.link, ServerGoodbye{next_best.id});
        in_pass([this, &best](const Pass& pass) { (void)core->remove_server(pass, best.id); });
        forget_frames(matchmaker);
    }
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
    const RegionFigures::OfRegion& figures = core->region_figures().of(eu);
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
