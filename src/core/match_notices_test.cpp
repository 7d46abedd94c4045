#include "core/match_notices.h"

#include <doctest/doctest.h>

#include "core/player_fixture.h"

namespace muster {
namespace {

using namespace muster::testing;

// A server, a matchmaker, and two players whose ids are 1 and 2.
struct PartyWorld : CoreWorld {
    TestServer server = join(*this, 5000);
    ConnectionId matchmaker = join_matchmaker(*this, "chat");
    TestPlayer ann = log_in(*this, "ann");
    TestPlayer bob = log_in(*this, "bob");

    void list(std::int32_t lobby, std::vector<AccountId> accounts) {
        send(matchmaker, MatchPlayers{LobbyId(lobby), {std::move(accounts)}});
        CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    }
    void ready(const TestMatch& match) {
        send(server.link, ReadyForMatch{server.id, match.lobby, MatchTokenText(match.token)});
        CHECK(error_of(next<ReadyForMatchResponse>(server.link)) == "");
    }
    void started(const TestMatch& match) { send(server.link, MatchStartedReport{server.id, match.lobby}); }
};

TEST_CASE_FIXTURE(PartyWorld, "A-10: when the server is ready the listed players here are told where, with the token") {
    list(7, {AccountId(1), AccountId(99)});
    const TestMatch match = allocate(*this, matchmaker, server, 7);
    CHECK(quiet(ann.link));
    ready(match);
    const auto start = next<PlayerMatchStart>(ann.link);
    CHECK(start.lobby == LobbyId(7));
    CHECK(start.endpoint.ip == "10.0.0.1");
    CHECK(start.endpoint.port == 5000);
    CHECK(start.token == match.token);
    CHECK(quiet(bob.link));
    // A repeat tells nobody twice.
    ready(match);
    CHECK(quiet(ann.link));
}

TEST_CASE_FIXTURE(PartyWorld, "A-10: who logs in or resumes later is told too, until the start") {
    list(7, {AccountId(1), AccountId(3)});
    const TestMatch match = allocate(*this, matchmaker, server, 7);
    ready(match);
    next<PlayerMatchStart>(ann.link);
    const TestPlayer cid = log_in(*this, "cid");
    CHECK(next<PlayerMatchStart>(cid.link).token == match.token);
    disconnect(ann.link);
    const TestPlayer back = log_in(*this, "ann", ann.resume_token);
    CHECK(next<PlayerMatchStart>(back.link).token == match.token);
    started(match);
    CHECK(quiet(log_in(*this, "cid").link));
}

TEST_CASE_FIXTURE(PartyWorld, "A-10: a list that comes after READY tells those who are new in it") {
    const TestMatch match = allocate(*this, matchmaker, server, 7);
    ready(match);
    CHECK(quiet(ann.link));
    forget_frames(matchmaker);
    list(7, {AccountId(1)});
    CHECK(next<PlayerMatchStart>(ann.link).lobby == LobbyId(7));
    list(7, {AccountId(1), AccountId(2)});
    CHECK(quiet(ann.link));
    CHECK(next<PlayerMatchStart>(bob.link).lobby == LobbyId(7));
}

TEST_CASE_FIXTURE(PartyWorld, "A-11: when the match falls through the listed players hear why") {
    list(7, {AccountId(1)});
    const TestMatch match = allocate(*this, matchmaker, server, 7);
    ready(match);
    next<PlayerMatchStart>(ann.link);
    in_pass([&](const Pass& pass) { core->abort_match(pass, match.lobby, "Maintenance"); });
    CHECK(next<PlayerMatchAborted>(ann.link) == PlayerMatchAborted{LobbyId(7), "Maintenance"});
    CHECK(quiet(bob.link));
    CHECK(quiet(log_in(*this, "ann").link));
}

TEST_CASE_FIXTURE(PartyWorld, "A-11: players hear of it also when the allocation failed") {
    list(7, {AccountId(1)});
    send(matchmaker, request_for(7, CoreWorld::use));
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "No servers available");
    CHECK(next<PlayerMatchAborted>(ann.link) == PlayerMatchAborted{LobbyId(7), "No servers available"});
}

TEST_CASE_FIXTURE(PartyWorld, "A-11, X-3: a request refused at the door says nothing of the lobby's match") {
    list(7, {AccountId(1)});
    const TestMatch match = allocate(*this, matchmaker, server, 7);
    ready(match);
    next<PlayerMatchStart>(ann.link);
    const ConnectionId other = join_matchmaker(*this, "other");
    send(other, request_for(7));
    CHECK(error_of(next<AllocationResponse>(other)) == "Invalid match lobby ID");
    in_pass([&](const Pass& pass) { core->shut_down(pass); });
    forget_frames(ann.link);
    send(other, request_for(7));
    CHECK(error_of(next<AllocationResponse>(other)) == "Server shutting down");
    CHECK(quiet(ann.link));
}

TEST_CASE_FIXTURE(PartyWorld, "A-11, P-6: who was in its grace hears of the abort when it resumes, and only then") {
    list(7, {AccountId(1), AccountId(2)});
    const TestMatch match = allocate(*this, matchmaker, server, 7);
    disconnect(ann.link);
    disconnect(bob.link);
    in_pass([&](const Pass& pass) { core->abort_match(pass, match.lobby, "Maintenance"); });
    const TestPlayer back = log_in(*this, "ann", ann.resume_token);
    CHECK(next<PlayerMatchAborted>(back.link).reason == "Maintenance");
    send(matchmaker, MatchmakerHeartbeat{});
    advance(31s);
    CHECK(quiet(log_in(*this, "bob", bob.resume_token).link));
}

TEST_CASE_FIXTURE(PartyWorld, "A-11, P-6: who was in its grace hears once of a lobby that failed over and over") {
    list(7, {AccountId(1)});
    disconnect(ann.link);
    for (int i = 0; i < 3; ++i) {
        send(matchmaker, request_for(7, CoreWorld::use));
        CHECK(error_of(next<AllocationResponse>(matchmaker)) == "No servers available");
    }
    const TestPlayer back = log_in(*this, "ann", ann.resume_token);
    CHECK(next<PlayerMatchAborted>(back.link).lobby == LobbyId(7));
    CHECK(quiet(back.link));
}

TEST_CASE_FIXTURE(PartyWorld, "A-10: an ended match leaves nothing to tell") {
    list(7, {AccountId(1)});
    const TestMatch match = allocate(*this, matchmaker, server, 7);
    ready(match);
    next<PlayerMatchStart>(ann.link);
    send(server.link, MatchEndedReport{server.id, match.lobby});
    CHECK(quiet(ann.link));
    CHECK(quiet(log_in(*this, "ann").link));
}

TEST_CASE("A-10: after a restart the players of a ready match are still told") {
    RecoveredState recovered;
    ServerRecord server;
    server.id = ServerId(4);
    server.ip = *IpAddress::parse("10.0.0.1");
    server.port = 5000;
    server.region = CoreWorld::eu;
    server.epoch = 3;
    server.max_matches = 10;
    recovered.servers.push_back(server);
    recovered.numbers = {100, 100, 100};
    recovered.accounts.push_back({"ann", AccountId(1)});
    recovered.players.push_back({LobbyId(7), "chat", {AccountId(1)}});
    MatchRecord match;
    match.lobby = LobbyId(7);
    match.matchmaker = "chat";
    match.region = CoreWorld::eu;
    match.player_count = 2;
    match.state = MatchState::ready;
    match.server = server.id;
    match.server_epoch = 3;
    match.server_ip = "10.0.0.1";
    match.server_port = 5000;
    match.token = "MATCH_7_x_1";
    recovered.matches.push_back(match);
    CoreWorld world(recovered);
    CHECK(world.next<PlayerMatchStart>(log_in(world, "ann").link).token == "MATCH_7_x_1");
}

// A cell with regions and players of its own, where others have players, too.
struct OneOfCells : CoreWorld {
    OneOfCells() : CoreWorld({}, [](CoreConfig& config) { config.others_have_players = true; }) {}

    template <class R>
    std::vector<R> written() const {
        std::vector<R> all;
        for (const Record& record : store.durable)
            if (const auto* one = std::get_if<R>(&record)) all.push_back(*one);
        return all;
    }
    void hear(std::vector<CellNews::Notice> notices) {
        CellNews news;
        news.notices = std::move(notices);
        in_pass([&](const Pass& pass) { core->take_news(pass, news); });
    }
};

TEST_CASE_FIXTURE(OneOfCells,
                  "N-8, A-10: what players hear of a match is written for the other cells in the same batch") {
    TestServer server = join(*this, 5000);
    const ConnectionId matchmaker = join_matchmaker(*this, "chat");
    send(matchmaker, MatchPlayers{LobbyId(7), {{AccountId(1), AccountId(99)}}});
    next<MatchPlayersResponse>(matchmaker);
    const TestMatch match = allocate(*this, matchmaker, server, 7);
    CHECK(written<PlayerNotice>().empty());
    send(server.link, ReadyForMatch{server.id, match.lobby, MatchTokenText(match.token)});
    const PlayerNotice ready{LobbyId(7), PlayerNotice::Kind::ready,    "10.0.0.1", 5000, match.token,
                             "",         {AccountId(1), AccountId(99)}};
    CHECK(written<PlayerNotice>() == std::vector<PlayerNotice>{ready});
    // Beside the match that is ready.
    for (std::size_t i = 0; i < store.durable.size(); ++i)
        if (std::holds_alternative<PlayerNotice>(store.durable[i]))
            CHECK(std::get<MatchRecord>(store.durable[i - 1]).state == MatchState::ready);
    send(server.link, MatchStartedReport{server.id, match.lobby});
    REQUIRE(written<PlayerNotice>().size() == 2);
    CHECK(written<PlayerNotice>()[1].kind == PlayerNotice::Kind::begun);
    // Who ends it has been told of its start: nobody waits any more.
    in_pass([&](const Pass& pass) { core->abort_match(pass, LobbyId(7), "bye"); });
    REQUIRE(written<PlayerNotice>().size() == 3);
    CHECK(written<PlayerNotice>()[2] ==
          PlayerNotice{LobbyId(7), PlayerNotice::Kind::fell_through, "", 0, "", "bye", {AccountId(1), AccountId(99)}});
}

TEST_CASE_FIXTURE(OneOfCells, "N-8, A-10: a match without listed players, and a world of one cell, write nothing") {
    TestServer server = join(*this, 5000);
    const ConnectionId matchmaker = join_matchmaker(*this, "chat");
    const TestMatch match = allocate(*this, matchmaker, server, 7);
    send(server.link, ReadyForMatch{server.id, match.lobby, MatchTokenText(match.token)});
    in_pass([&](const Pass& pass) { core->abort_match(pass, LobbyId(7), "bye"); });
    CHECK(written<PlayerNotice>().empty());
}

TEST_CASE_FIXTURE(
    OneOfCells, "N-8, fault 4: with the disk full, requests over and over leave nothing waiting for the other cells") {
    const TestPlayer ann = log_in(*this, "ann");
    const ConnectionId matchmaker = join_matchmaker(*this, "chat");
    send(matchmaker, MatchPlayers{LobbyId(7), {{ann.id, AccountId(99)}}});
    next<MatchPlayersResponse>(matchmaker);
    store.fault = StoreFault::full;
    send(matchmaker, MatchPlayers{LobbyId(8), {{ann.id}}});  // finds it out
    next<MatchPlayersResponse>(matchmaker);
    const auto waiting = [&] { return core->ledger().records_waiting() - core->ledger().events_waiting(); };
    const std::size_t before = waiting();
    for (int i = 0; i < 100; ++i) {
        REQUIRE(request_error(*this, matchmaker, request_for(7)) == "Store unavailable");
        CHECK(next<PlayerMatchAborted>(ann.link).lobby == LobbyId(7));  // who is here hears each
    }
    CHECK(waiting() <= before + 1);
    store.fault = StoreFault::none;
    advance(2s);
    CHECK(request_error(*this, matchmaker, request_for(7)) == "No servers available");
    REQUIRE(written<PlayerNotice>().size() == 1);
    CHECK(written<PlayerNotice>()[0].reason == "No servers available");
}

TEST_CASE_FIXTURE(OneOfCells,
                  "N-8, A-10, A-11: what another cell says of its match is told here once, and then settled") {
    const TestPlayer ann = log_in(*this, "ann");
    const PlayerNotice ready{LobbyId(9), PlayerNotice::Kind::ready, "10.0.0.9", 7000, "token",
                             "",         {ann.id, AccountId(2)}};
    hear({{"us", 1, ready}});
    const auto start = next<PlayerMatchStart>(ann.link);
    CHECK(start.lobby == LobbyId(9));
    CHECK(start.endpoint.port == 7000);
    // The other cell was taken over, and says it again; who comes later is told, too.
    hear({{"us", 2, ready}});
    CHECK(quiet(ann.link));
    const TestPlayer bob = log_in(*this, "bob");
    CHECK(next<PlayerMatchStart>(bob.link).lobby == LobbyId(9));
    // The second voids the first, which is dropped by that; one that says ready stays for the next owner of this cell.
    CHECK(written<NoticeTold>() == std::vector<NoticeTold>{{1}, {2}});
    hear({{"us", 3, {LobbyId(9), PlayerNotice::Kind::fell_through, "", 0, "", "lost", {ann.id, bob.id}}}});
    CHECK(next<PlayerMatchAborted>(ann.link).lobby == LobbyId(9));
    CHECK(next<PlayerMatchAborted>(bob.link).lobby == LobbyId(9));
    CHECK(written<NoticeTold>() == std::vector<NoticeTold>{{1}, {2}, {3}});
    CHECK(quiet(log_in(*this, "bob").link));
    // It is written nowhere as if the match were this cell's.
    CHECK(written<PlayerNotice>().empty());
    hear({{"us", 4, ready}, {"us", 5, {LobbyId(9), PlayerNotice::Kind::begun}}});
    next<PlayerMatchStart>(ann.link);
    CHECK(written<NoticeTold>() == std::vector<NoticeTold>{{1}, {2}, {3}, {4}, {5}});
    const TestPlayer again = log_in(*this, "ann");
    CHECK(quiet(again.link));
    // What cannot be a match is nobody's.
    hear({{"us",
           6,
           {LobbyId(9), PlayerNotice::Kind::ready, "no address", 7000, std::string(5'000, 't'), "", {ann.id}}}});
    CHECK(quiet(again.link));
}

}  // namespace
}  // namespace muster
