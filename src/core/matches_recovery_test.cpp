#include <algorithm>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

ServerRecord registered(std::int32_t id, std::uint16_t port) {
    ServerRecord server;
    server.id = ServerId(id);
    server.ip = *IpAddress::parse("10.0.0.1");
    server.port = port;
    server.region = CoreWorld::eu;
    server.epoch = id;
    server.max_matches = 10;
    return server;
}

RecoveredState after_a_match_each() {
    RecoveredState state;
    state.numbers = {100, 100, 100};
    state.servers = {registered(1, 7001), registered(2, 7002)};
    const UnixMs now = VirtualClock().wall();
    state.over = {{now, LobbyId(5), ServerId(1), MatchState::ended},
                  {now, LobbyId(6), ServerId(1), MatchState::aborted}};
    return state;
}

}  // namespace

TEST_CASE("A-10: after a restart a repeated ENDED succeeds, and STARTED hears that the match has ended") {
    CoreWorld world(after_a_match_each());
    const TestServer one = join(world, 7001);
    const TestServer two = join(world, 7002);
    REQUIRE(one.id == ServerId(1));
    const auto ended = [&](const TestServer& by, std::int32_t lobby) {
        world.send(by.link, MatchEndedReport{by.id, LobbyId(lobby)});
        return error_of(world.next<MatchResponse>(by.link));
    };
    CHECK(ended(one, 5) == "");
    CHECK(ended(one, 5) == "");
    CHECK(world.events_named("match.ended") == 0);
    world.send(one.link, MatchStartedReport{one.id, LobbyId(5)});
    CHECK(error_of(world.next<MatchResponse>(one.link)) == "Match already ended");
    CHECK(ended(two, 5) == "Server not allocated to this match");
    CHECK(ended(one, 6) == "Match not found");
}

TEST_CASE("A-2: after a restart the number of a match that is over is not used again") {
    CoreWorld world(after_a_match_each());
    join(world, 7001);
    const ConnectionId matchmaker = join_matchmaker(world);
    for (const std::int32_t lobby : {5, 6}) {
        world.send(matchmaker, request_for(lobby));
        CHECK(error_of(world.next<AllocationResponse>(matchmaker)) == "Invalid match lobby ID");
    }
}

TEST_CASE("fault 15, K-2: after a restart with an earlier date no token lives on, since nobody knows its age") {
    for (const bool went_back : {false, true}) {
        RecoveredState state = after_a_match_each();
        state.over.clear();
        const std::int64_t now = VirtualClock().wall().value;
        MatchRecord match;
        match.lobby = LobbyId(7);
        match.matchmaker = "chat-1";
        match.region = CoreWorld::eu;
        match.player_count = 10;
        match.state = MatchState::ready;
        match.server = ServerId(1);
        match.server_epoch = 1;
        match.token = "MATCH_7_token";
        match.allocated_at = UnixMs{now - 60'000};
        match.ready_at = UnixMs{went_back ? now + 1 : now - 1};
        state.matches = {match};
        CoreWorld world(state);
        const TestServer server = join(world, 7001);
        world.advance(1ms);
        world.send(server.link, ValidateToken{server.id, LobbyId(7), AccountId(1), MatchTokenText("MATCH_7_token")});
        CHECK(error_of(world.next<ValidateTokenResponse>(server.link)) == (went_back ? "Match token expired" : ""));
    }
}

namespace {

// Lobby 7 was allocated on server 1 by chat-1, as far as the disk knows. Whether its answer left, nobody knows.
struct InDoubt : CoreWorld {
    explicit InDoubt(std::size_t lobbies = 1) : CoreWorld(state(lobbies)) {}

    static RecoveredState state(std::size_t lobbies) {
        RecoveredState state = after_a_match_each();
        state.over.clear();
        for (std::size_t i = 0; i < lobbies; ++i) {
            MatchRecord match;
            match.lobby = LobbyId(static_cast<std::int32_t>(7 + i));
            match.matchmaker = "chat-1";
            match.region = eu;
            match.player_count = 10;
            match.state = MatchState::allocated;
            match.server = ServerId(1);
            match.server_epoch = 1;
            match.server_ip = "10.0.0.1";
            match.server_port = 7001;
            match.token = "MATCH_7_token";
            match.requested_at = match.allocated_at = VirtualClock().wall();
            state.matches.push_back(match);
        }
        state.servers[0].max_matches = 10'000;
        return state;
    }
    TestServer back() {
        const TestServer server = join(*this, 7001, eu, 10'000);
        REQUIRE(server.id == ServerId(1));
        return server;
    }
};

}  // namespace

TEST_CASE_FIXTURE(InDoubt,
                  "A-9, fault 72: after a restart a match that nobody reported ready stands when its server says yes") {
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(7));
    CHECK(quiet(matchmaker));  // its server has not said that it holds it
    const TestServer server = back();
    const auto offer = next<AllocateMatch>(server.link);
    CHECK(offer.lobby == LobbyId(7));
    CHECK(offer.token == "MATCH_7_token");
    CHECK(quiet(matchmaker));
    send(server.link, AllocateMatchAck{true, LobbyId(7)});
    const auto answer = next<AllocationResponse>(matchmaker);
    REQUIRE(error_of(answer) == "");
    CHECK(std::get<AllocationResponse::Accepted>(answer.answer).token == "MATCH_7_token");
    CHECK(core->matches().find(LobbyId(7))->record.server_epoch == state_of(*this, server).epoch);
    CHECK(core->fleet().find(server.id)->held == 1);
    advance(10s);
    CHECK(core->matches().find(LobbyId(7)) != nullptr);
    CHECK(quiet(server.link));
}

TEST_CASE(
    "A-9, fault 72: after a restart a match that its server does not hold is aborted, and whoever waits is told") {
    for (const bool answers : {true, false}) {
        InDoubt world;
        const ConnectionId matchmaker = join_matchmaker(world);
        world.send(matchmaker, request_for(7));
        const TestServer server = world.back();
        world.next<AllocateMatch>(server.link);
        if (answers) world.send(server.link, AllocateMatchAck{false, LobbyId(7)});
        if (!answers) world.advance(4999ms);
        CHECK((world.core->matches().find(LobbyId(7)) == nullptr) == answers);
        if (!answers) world.advance(1ms);
        CHECK(error_of(world.next<AllocationResponse>(matchmaker)) == "Server allocation timeout");
        const auto notice = world.next<MatchEventNotice>(matchmaker);
        CHECK(notice.event == MatchEventKind::aborted);
        CHECK(notice.reason == "Lost by server");
        CHECK(world.next<AbortMatch>(server.link).lobby == LobbyId(7));
        CHECK(world.core->fleet().find(server.id)->load() == 0);
        world.send(matchmaker, request_for(7));
        CHECK(error_of(world.next<AllocationResponse>(matchmaker)) == "Invalid match lobby ID");
    }
}

TEST_CASE("A-9, fault 72: after a restart a ready or started match stands when its server counts it, and only then") {
    for (const MatchState before : {MatchState::ready, MatchState::started}) {
        for (const bool holds : {true, false}) {
            RecoveredState state = InDoubt::state(1);
            state.matches[0].state = before;
            CoreWorld world(state);
            const ConnectionId matchmaker = join_matchmaker(world);
            CHECK(world.next<MatchEventNotice>(matchmaker).lobby == LobbyId(7));  // its latest event
            const TestServer server = join(world, 7001, CoreWorld::eu, 10'000);
            CHECK(world.quiet(server.link));  // it runs the match: it is not offered again
            world.send(matchmaker, request_for(7));
            CHECK(world.quiet(matchmaker));
            for (int reports = 0; reports < (holds ? 1 : 3); ++reports) {
                CHECK(world.core->matches().find(LobbyId(7)) != nullptr);
                world.send(server.link, ServerHeartbeat{server.id, holds ? 1 : 0, 0, 0});
            }
            const auto answer = world.next<AllocationResponse>(matchmaker);
            CHECK(error_of(answer) == (holds ? "" : "Server allocation timeout"));
            CHECK((world.core->matches().find(LobbyId(7)) != nullptr) == holds);
        }
    }
}

TEST_CASE(
    "A-9, F-7, N-6: reports that waited for the next owner end no match while the server is asked about another") {
    RecoveredState state = InDoubt::state(2);
    state.matches[0].state = MatchState::ready;
    state.matches[0].ready_at = state.matches[0].allocated_at;
    state.matches[1].state = MatchState::offering;  // which the server never heard of
    for (const bool takes_it : {true, false}) {
        CoreWorld world(state);
        const TestServer server = join(world, 7001, CoreWorld::eu, 10'000);
        const auto reported = [&](std::int32_t matches, int times) {
            for (int i = 0; i < times; ++i) world.send(server.link, beat_of(server, matches));
        };
        reported(1, 6);
        REQUIRE(world.core->matches().find(LobbyId(7)));
        CHECK(world.core->matches().find(LobbyId(7))->record.state == MatchState::ready);
        world.send(server.link, AllocateMatchAck{takes_it, LobbyId(8)});
        CHECK((world.core->matches().find(LobbyId(8)) != nullptr) == takes_it);
        // From its answer on its reports count as ever.
        reported(takes_it ? 2 : 1, 6);
        CHECK(world.core->matches().find(LobbyId(7)));
        reported(0, 3);
        CHECK_FALSE(world.core->matches().find(LobbyId(7)));
    }
}

TEST_CASE("A-9: nobody is answered about a running match of a server that does not come back") {
    RecoveredState state = InDoubt::state(1);
    state.matches[0].state = MatchState::started;
    CoreWorld world(state);
    const ConnectionId matchmaker = join_matchmaker(world);
    world.next<MatchEventNotice>(matchmaker);
    world.send(matchmaker, request_for(7));
    world.advance(24s);
    CHECK(world.quiet(matchmaker));
    world.advance(1s);
    CHECK(error_of(world.next<AllocationResponse>(matchmaker)) == "Server allocation timeout");
    CHECK(world.core->matches().find(LobbyId(7)) != nullptr);
}

TEST_CASE("A-9, fault 63: after a gap a server's word about a match in doubt comes too late for who waits") {
    CoreWorld world(InDoubt::state(1));
    const ConnectionId matchmaker = join_matchmaker(world);
    world.send(matchmaker, request_for(7));
    const TestServer server = join(world, 7001, CoreWorld::eu, 10'000);
    world.next<AllocateMatch>(server.link);
    world.clock.advance(34s);  // nothing turns meanwhile, and the socket is read before the timers
    world.send(server.link, AllocateMatchAck{true, LobbyId(7)});
    CHECK(error_of(world.next<AllocationResponse>(matchmaker)) == "Server allocation timeout");
    CHECK(world.core->matches().find(LobbyId(7)) != nullptr);
}

TEST_CASE_FIXTURE(InDoubt, "A-9: a server that reports the match ready, or lets a player in, holds it") {
    const TestServer server = back();
    next<AllocateMatch>(server.link);
    send(server.link, ReadyForMatch{server.id, LobbyId(7), MatchTokenText("MATCH_7_token")});
    CHECK(error_of(next<ReadyForMatchResponse>(server.link)) == "");
    advance(10s);
    CHECK(core->matches().find(LobbyId(7)) != nullptr);
    send(server.link, AllocateMatchAck{true, LobbyId(7)});  // late, and harmless
    CHECK(quiet(server.link));
}

TEST_CASE_FIXTURE(InDoubt, "A-7, A-9: who asks for a match whose server stays away is answered after 25 s") {
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(7));
    advance(24'999ms);
    CHECK(quiet(matchmaker));
    advance(1ms);
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Server allocation timeout");
    CHECK(core->matches().find(LobbyId(7)) != nullptr);  // its server may still come
    advance(6s);
    CHECK(next<MatchEventNotice>(matchmaker).event == MatchEventKind::aborted);
}

TEST_CASE_FIXTURE(InDoubt, "A-9: a server that is lost before it has said yes is asked again when it is back") {
    const TestServer server = back();
    next<AllocateMatch>(server.link);
    disconnect(server.link);
    advance(6s);
    REQUIRE(core->matches().find(LobbyId(7)) != nullptr);
    const TestServer again = back();
    CHECK(next<AllocateMatch>(again.link).lobby == LobbyId(7));
    send(again.link, AllocateMatchAck{true, LobbyId(7)});
    advance(6s);
    CHECK(core->matches().find(LobbyId(7)) != nullptr);
}

TEST_CASE("A-9, W-7: a server with thousands of matches is asked about them in portions") {
    InDoubt world(2'000);
    const TestServer server = world.back();
    CHECK(world.links.peers[server.link].frames.size() == Doubts::asked_max);
    for (std::int32_t lobby = 7; lobby < 2'007; ++lobby) {
        CHECK(world.next<AllocateMatch>(server.link).lobby == LobbyId(lobby));
        world.send(server.link, AllocateMatchAck{lobby % 2 == 0, LobbyId(lobby)});
        if (lobby % 2 != 0) {
            // The abort stands behind the offers that were sent before it.
            auto& frames = world.links.peers[server.link].frames;
            std::erase_if(frames, [](const RememberedLinks::Frame& frame) { return frame.code == AbortMatch::code; });
        }
    }
    CHECK(world.core->matches().size() == 1'000);
    CHECK(world.quiet(server.link));
}

TEST_CASE("F-6, fault 1: an abort that an endpoint is owed is not forgotten by a restart") {
    std::vector<AbortOwed> on_disk;
    {
        CoreWorld world;
        const TestServer server = join(world, 7001);
        const ConnectionId matchmaker = join_matchmaker(world);
        allocate(world, matchmaker, server, 9);
        world.disconnect(server.link);
        world.advance(31s);
        for (const Record& record : world.store.durable) {
            if (const auto* owed = std::get_if<AbortOwed>(&record)) on_disk.push_back(*owed);
        }
    }
    REQUIRE(on_disk.size() == 1);
    RecoveredState state = after_a_match_each();
    state.servers.clear();
    state.owed_aborts = on_disk;
    CoreWorld world(state);
    const TestServer server = join(world, 7001);
    CHECK(world.next<AbortMatch>(server.link).lobby == LobbyId(9));
    // A crash may have swallowed it. After a minute on the same link it has heard it.
    CHECK(world.core->fleet().owed_aborts().size() == 1);
    world.disconnect(server.link);
    const TestServer back = join(world, 7001);
    CHECK(world.next<AbortMatch>(back.link).lobby == LobbyId(9));
    for (int i = 0; i < 12; ++i) {
        world.advance(10s);
        CHECK(heartbeat_error(world, back, beat_of(back)) == "");
    }
    CHECK(world.core->fleet().owed_aborts().size() == 0);
    CHECK(std::any_of(world.store.durable.begin(), world.store.durable.end(),
                      [](const Record& record) { return std::holds_alternative<AbortsTold>(record); }));
}

TEST_CASE_FIXTURE(CoreWorld,
                  "F-6, A-11: a match aborted while its server's link is lost is told when the server is back") {
    const TestServer server = join(*this, 7001);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, server, 9);
    disconnect(server.link);
    send(matchmaker, CancelMatch{LobbyId(9)});
    CHECK(next<MatchEventNotice>(matchmaker).reason == "Cancelled");
    const TestServer again = join(*this, 7001);
    CHECK(again.id == server.id);
    CHECK(next<AbortMatch>(again.link).lobby == LobbyId(9));
}

TEST_CASE("K-3, invariant 14: after a restart who has used a token is let in no second time") {
    RecoveredState state = InDoubt::state(1);
    state.matches[0].state = MatchState::ready;
    state.tokens_used = {{LobbyId(7), AccountId(1)}};
    CoreWorld world(state);
    const TestServer server = join(world, 7001);
    const auto validated = [&](std::int32_t account) {
        world.send(server.link,
                   ValidateToken{server.id, LobbyId(7), AccountId(account), MatchTokenText("MATCH_7_token")});
        return error_of(world.next<ValidateTokenResponse>(server.link));
    };
    CHECK(validated(1) == "Match token already used");
    CHECK(validated(2) == "");
}

TEST_CASE("A-9, K-2, fault 65: an offer that a restart finds is asked about again, and its token gains no time") {
    for (const bool holds : {true, false}) {
        RecoveredState state = InDoubt::state(1);
        MatchRecord& offer = state.matches[0];
        offer.state = MatchState::offering;
        offer.allocated_at = {};
        offer.requested_at = UnixMs{VirtualClock().wall().value - 100'000};
        state.owed_aborts = {{*IpAddress::parse("10.0.0.1"), 7001, LobbyId(7)}};  // of an earlier offer
        CoreWorld world(state);
        CHECK(world.core->matches().size() == 1);
        CHECK(world.core->matches().in_flight() == 0);
        const ConnectionId matchmaker = join_matchmaker(world);
        world.send(matchmaker, request_for(7));
        CHECK(world.quiet(matchmaker));
        const TestServer server = join(world, 7001, CoreWorld::eu, 10'000);
        CHECK(world.next<AllocateMatch>(server.link).token == "MATCH_7_token");  // and no abort before it
        world.send(server.link, AllocateMatchAck{holds, LobbyId(7)});
        const auto answer = world.next<AllocationResponse>(matchmaker);
        CHECK(error_of(answer) == (holds ? "" : "Server allocation timeout"));
        if (!holds) {
            CHECK(world.next<MatchEventNotice>(matchmaker).event == MatchEventKind::aborted);
            CHECK(world.core->matches().figures().recovered_dropped == 1);
            continue;
        }
        CHECK(std::get<AllocationResponse::Accepted>(answer.answer).token == "MATCH_7_token");
        world.advance(19'999ms);
        CHECK(world.core->matches().find(LobbyId(7)) != nullptr);
        world.advance(1ms);
        CHECK(world.next<MatchEventNotice>(matchmaker).reason == "Match token expired");
    }
}

TEST_CASE("A-10: a stored list that names an account twice is one that names it once") {
    RecoveredState state = InDoubt::state(1);
    state.matches[0].state = MatchState::ready;
    state.players.push_back({LobbyId(7), "chat-1", {AccountId(5), AccountId(5)}});
    CoreWorld world(state);
    const TestServer server = join(world, 7001, CoreWorld::eu, 10'000);
    CHECK(report_error<MatchEndedReport>(world, server, 7) == "");
    CHECK(world.core->matches().find(LobbyId(7)) == nullptr);
}
