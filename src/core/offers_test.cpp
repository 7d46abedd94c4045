#include "core/offers.h"

#include <set>
#include <variant>

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

TEST_CASE_FIXTURE(CoreWorld, "A-3, A-4: the best server of the region gets the match") {
    const ConnectionId matchmaker = join_matchmaker(*this);
    CHECK(request_error(*this, matchmaker, request_for(1)) == "No servers available");
    const TestServer busy = join(*this, 7777);
    const TestServer idle = join(*this, 7778);
    join(*this, 7779, use);
    send(busy.link, beat_of(busy, 0, 90, 90));
    send(idle.link, beat_of(idle, 0, 5, 5));
    forget_frames(busy.link);
    forget_frames(idle.link);
    send(matchmaker, request_for(1));
    CHECK(next<AllocateMatch>(idle.link).lobby == LobbyId(1));
    CHECK(quiet(busy.link));
}

TEST_CASE_FIXTURE(CoreWorld, "A-5, fault 60: a thousand requests for the last slot, and exactly one gets it") {
    const TestServer server = join(*this, 7777, eu, 1);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    const ConnectionId others = join_matchmaker(*this, "others");
    for (int lobby = 2; lobby <= 1'000; ++lobby)
        CHECK(request_error(*this, others, request_for(lobby)) == "No servers available");
    CHECK(next<AllocateMatch>(server.link).lobby == LobbyId(1));
    CHECK(quiet(server.link));
    send(server.link, AllocateMatchAck{true, LobbyId(1)});
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "");
}

TEST_CASE_FIXTURE(
    CoreWorld, "A-6: a refusal moves on at once, a silence after 5 s, each to another server with a token of its own") {
    std::vector<TestServer> servers;
    for (int i = 0; i < 5; ++i) servers.push_back(join(*this, 7000 + i));
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    std::set<std::string> tokens;
    const auto offered_to = [&](std::size_t i) {
        const auto offer = next<AllocateMatch>(servers[i].link);
        CHECK(tokens.insert(offer.token.string()).second);
    };
    offered_to(0);
    send(servers[0].link, AllocateMatchAck{false, LobbyId(1)});
    offered_to(1);
    advance(4'999ms);
    CHECK(quiet(servers[2].link));
    advance(1ms);
    CHECK(next<AbortMatch>(servers[1].link).lobby == LobbyId(1));
    offered_to(2);
    send(servers[2].link, AllocateMatchAck{false, LobbyId(1)});
    offered_to(3);
    send(servers[3].link, AllocateMatchAck{false, LobbyId(1)});
    // Four offers in all: the fifth server is not asked.
    CHECK(quiet(servers[4].link));
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Server allocation timeout");
    CHECK(core->matches().figures().retries.at(eu) == 3);
    for (const TestServer& server : servers) CHECK(core->fleet().find(server.id)->load() == 0);
}

TEST_CASE_FIXTURE(CoreWorld, "A-6: when none is left and none timed out, there are no servers available") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    send(server.link, AllocateMatchAck{false, LobbyId(1)});
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "No servers available");
    forget_frames(server.link);
    send(matchmaker, request_for(1));  // a failed request may be asked again
    CHECK(next<AllocateMatch>(server.link).lobby == LobbyId(1));
    advance(5s);
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Server allocation timeout");
}

TEST_CASE_FIXTURE(
    CoreWorld,
    "A-7: a server that goes Offline with an offer counts as a refusal at once, and hears of it when it is back") {
    const TestServer one = join(*this, 7777);
    const TestServer two = join(*this, 7778);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    CHECK(next<AllocateMatch>(one.link).lobby == LobbyId(1));
    disconnect(one.link);
    CHECK(next<AllocateMatch>(two.link).lobby == LobbyId(1));
    const TestServer back = join(*this, 7777);
    CHECK(next<AbortMatch>(back.link).lobby == LobbyId(1));
}

TEST_CASE_FIXTURE(
    CoreWorld,
    "A-7, fault 61: a late acknowledgement is told to drop the match, and the lobby is not offered there before") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    next<AllocateMatch>(server.link);
    advance(5s);
    CHECK(next<AbortMatch>(server.link).lobby == LobbyId(1));
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Server allocation timeout");
    CHECK(request_error(*this, matchmaker, request_for(1)) == "No servers available");  // it still owes an answer
    send(matchmaker, request_for(2));
    CHECK(next<AllocateMatch>(server.link).lobby == LobbyId(2));  // for this lobby only

    send(server.link, AllocateMatchAck{true, LobbyId(1)});
    CHECK(next<AbortMatch>(server.link).lobby == LobbyId(1));
    CHECK(core->matches().figures().bad_acks == 1);
    const ConnectionId again = join_matchmaker(*this, "again");
    send(again, request_for(3));
    CHECK(next<AllocateMatch>(server.link).lobby == LobbyId(3));
    send(server.link, AllocateMatchAck{false, LobbyId(2)});
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "No servers available");
    send(matchmaker, request_for(1));
    CHECK(next<AllocateMatch>(server.link).lobby == LobbyId(1));
}

TEST_CASE_FIXTURE(CoreWorld, "fault 61: acks twice, for unknown lobbies and from the wrong server change nothing") {
    const TestServer one = join(*this, 7777);
    const TestServer two = join(*this, 7778);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, one, 1);
    send(one.link, AllocateMatchAck{true, LobbyId(1)});
    CHECK(quiet(one.link));  // it does hold it
    send(two.link, AllocateMatchAck{true, LobbyId(1)});
    CHECK(next<AbortMatch>(two.link).lobby == LobbyId(1));
    send(two.link, AllocateMatchAck{true, LobbyId(404)});
    CHECK(next<AbortMatch>(two.link).lobby == LobbyId(404));
    send(two.link, AllocateMatchAck{false, LobbyId(404)});
    CHECK(quiet(two.link));
    CHECK(core->matches().find(LobbyId(1))->record.server == one.id);
    CHECK(core->fleet().find(one.id)->held == 1);
    CHECK(core->fleet().find(two.id)->held == 0);
    CHECK(core->matches().figures().bad_acks == 4);
}

TEST_CASE_FIXTURE(CoreWorld, "A-7, fault 61: a late acknowledgement does not count for the offer to the next server") {
    const TestServer late = join(*this, 7777);
    const TestServer asked = join(*this, 7778);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    next<AllocateMatch>(late.link);
    advance(5s);
    CHECK(next<AbortMatch>(late.link).lobby == LobbyId(1));
    CHECK(next<AllocateMatch>(asked.link).lobby == LobbyId(1));

    send(late.link, AllocateMatchAck{true, LobbyId(1)});
    CHECK(next<AbortMatch>(late.link).lobby == LobbyId(1));
    CHECK(quiet(matchmaker));
    CHECK(core->matches().find(LobbyId(1))->offering());
    send(late.link, AllocateMatchAck{false, LobbyId(1)});
    CHECK(core->matches().find(LobbyId(1))->offering());
    CHECK(core->fleet().find(asked.id)->held == 0);

    send(asked.link, AllocateMatchAck{true, LobbyId(1)});
    CHECK(std::get<AllocationResponse::Accepted>(next<AllocationResponse>(matchmaker).answer).server == asked.id);
}
