#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "muster/game_server.h"
#include "sdk/src/game_server_fixture.h"

namespace muster::sdk {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

TEST_CASE_FIXTURE(GameServerFixture, "F-6: after a lost link the server registers again and goes on with its matches") {
    joined();
    hold_started(5);
    hold_ready(6);
    noted();
    muster.lose();
    CHECK(noted() == Lines{"connecting"});
    CHECK(server.match_count() == 2);
    muster.advance(100ms);
    muster.connect();
    greet();
    CHECK(noted() == Lines{"online"});
    // A match that waits for players is affirmed, so that one which Muster gave up meanwhile is noticed.
    CHECK(muster.heard<ReadyForMatch>().lobby.value == 6);
    CHECK(beat().match_count == 2);
    CHECK(muster.silent());
    refuse_ready(6, Refusal::match_not_found);
    CHECK(noted() == Lines{"abort 6 Match not found"});
    CHECK(server.holds(LobbyId{5}));
}

TEST_CASE_FIXTURE(GameServerFixture, "G-7: matches of an earlier process are taken over as far as they had come") {
    server.take_over({.lobby = LobbyId{1}, .token = "one"}, GameServer::MatchStage::accepted);
    server.take_over({.lobby = LobbyId{2}, .token = "two"}, GameServer::MatchStage::ready);
    server.take_over({.lobby = LobbyId{3}, .token = "three"}, GameServer::MatchStage::started);
    CHECK(server.match_count() == 3);
    join();
    const auto ready = muster.heard<ReadyForMatch>();
    CHECK(ready.lobby.value == 2);
    CHECK(ready.token.view() == "two");
    CHECK(muster.heard<MatchStartedReport>().lobby.value == 3);
    CHECK(beat().match_count == 3);
    CHECK(muster.silent());
    refuse_ready(2, Refusal::match_not_found);
    CHECK(noted() == Lines{"online", "abort 2 Match not found"});
    CHECK(server.end(LobbyId{3}));
    CHECK(muster.heard<MatchEndedReport>().lobby.value == 3);
}

TEST_CASE_FIXTURE(GameServerFixture, "A-10: what was not answered when the link broke is said again on the next") {
    joined();
    hold(1);
    hold_ready(2);
    hold_started(3);
    server.ready(LobbyId{1});
    server.start(LobbyId{2});
    server.end(LobbyId{3});
    muster.reconnect();
    greet(77);
    const auto ready = muster.heard<ReadyForMatch>();
    CHECK(ready.lobby.value == 1);
    CHECK(ready.server.value == 77);
    CHECK(muster.heard<MatchStartedReport>().lobby.value == 2);
    CHECK(muster.heard<MatchEndedReport>().lobby.value == 3);
    CHECK(beat().match_count == 2);
    CHECK(muster.silent());

    answer_report(2);
    answer_report(3);
    muster.reconnect();
    greet(77);
    CHECK(muster.heard<ReadyForMatch>().lobby.value == 1);
    beat();
    CHECK(muster.silent());
}

TEST_CASE_FIXTURE(GameServerFixture, "A-10: what is decided without a link reaches Muster with the next one") {
    joined();
    for (const int lobby : {1, 2, 3}) hold(lobby);
    muster.lose();
    CHECK(server.ready(LobbyId{1}));
    CHECK(server.ready(LobbyId{2}));
    CHECK(server.start(LobbyId{2}));
    CHECK(server.end(LobbyId{3}));
    server.drain(true);
    CHECK(server.match_count() == 2);
    muster.advance(1s);
    muster.connect();
    greet();
    CHECK(muster.heard<SetDraining>().draining);
    CHECK(muster.heard<ReadyForMatch>().lobby.value == 1);
    CHECK(muster.heard<MatchStartedReport>().lobby.value == 2);
    CHECK(muster.heard<MatchEndedReport>().lobby.value == 3);
    CHECK(beat().match_count == 2);
}

TEST_CASE_FIXTURE(GameServerFixture, "A-7: an offer that is open when the link breaks is void") {
    joined();
    decide = [](const Offer&) { return OfferAnswer::later; };
    offer(5);
    noted();
    muster.lose();
    CHECK(noted() == Lines{"abort 5 Connection lost", "connecting"});
    CHECK_FALSE(server.answer(LobbyId{5}, OfferAnswer::accept));
}

TEST_CASE_FIXTURE(GameServerFixture,
                  "invariant 2: a lobby offered anew takes the place of the match whose acknowledgement was lost") {
    joined();
    hold(5, "first");
    muster.reconnect();
    greet();
    beat();
    noted();
    offer(5, "second");
    CHECK(noted() == Lines{"abort 5 Offered anew", "offer 5 second"});
    CHECK(acknowledged(5));
    CHECK(server.match_count() == 1);
    server.ready(LobbyId{5});
    CHECK(muster.heard<ReadyForMatch>().token == "second");
}

TEST_CASE_FIXTURE(GameServerFixture, "A-6: the same offer twice is acknowledged twice, and the user asked once") {
    joined();
    hold(5, "abc");
    noted();
    offer(5, "abc");
    CHECK(acknowledged(5));
    CHECK(noted().empty());
    CHECK(server.match_count() == 1);
}

TEST_CASE_FIXTURE(GameServerFixture,
                  "invariant 2: an unanswered end of an earlier match is not said of the lobby's next one") {
    joined();
    hold(5, "first");
    server.end(LobbyId{5});
    muster.heard<MatchEndedReport>();
    hold(5, "second");
    muster.reconnect();
    greet();
    CHECK(beat().match_count == 1);
    CHECK(muster.silent());
}

TEST_CASE_FIXTURE(GameServerFixture, "fault 20: a heartbeat without an answer for 15 s means that the link is dead") {
    joined();
    muster.advance(10s);
    muster.heard<ServerHeartbeat>();
    muster.advance(10s);
    muster.heard<ServerHeartbeat>();
    muster.advance(4'999ms);
    CHECK_FALSE(muster.dropped());
    muster.advance(1ms);
    CHECK(muster.dropped());
    CHECK(noted() == Lines{"error No answer to a heartbeat"});
    muster.reconnect();  // well before the 30 s are over
    greet();
    CHECK(server.link_state() == LinkState::online);
}

TEST_CASE_FIXTURE(GameServerFixture,
                  "fault 30: 30 s without an acknowledgement isolates the server: running matches run, no new ones") {
    joined();
    hold_started(5);
    noted();
    muster.lose();
    noted();
    muster.advance(29'999ms);
    CHECK(server.link_state() == LinkState::connecting);
    muster.advance(1ms);
    CHECK(noted() == Lines{"isolated"});
    CHECK(server.holds(LobbyId{5}));
    CHECK(server.match_count() == 1);

    muster.advance(10s);
    muster.connect();
    greet(50);
    CHECK(noted() == Lines{"online"});
    beat();
    hold(6);
}

TEST_CASE_FIXTURE(GameServerFixture,
                  "fault 30: an offer that lay in the socket while the machine stood still is declined") {
    joined();
    muster.freeze(29'999ms);
    offer(5);
    CHECK(acknowledged(5));
    muster.freeze(1ms);
    noted();
    offer(6);
    CHECK_FALSE(acknowledged(6));
    CHECK(noted().empty());
}

TEST_CASE_FIXTURE(GameServerFixture, "fault 30: an acknowledgement counts from when its heartbeat was sent") {
    joined();
    muster.advance(10s);
    muster.heard<ServerHeartbeat>();
    muster.freeze(31s);  // the acknowledgement and the offer wait in the socket
    acknowledge();
    offer(5);
    CHECK_FALSE(acknowledged(5));
    CHECK(server.link_state() == LinkState::online);  // nobody looked yet
    muster.advance(0s);
    CHECK(server.link_state() == LinkState::isolated);
    beat();
    CHECK(server.link_state() == LinkState::online);
    hold(6);
}

TEST_CASE_FIXTURE(GameServerFixture, "F-3: a server that Muster does not know any more registers anew on a new link") {
    joined();
    hold_started(5);
    noted();
    muster.advance(10s);
    muster.heard<ServerHeartbeat>();
    muster.say(ServerHeartbeatAck{Refused{"Server not registered"}});
    CHECK(noted() == Lines{"error Server not registered"});
    CHECK(muster.dropped());
    muster.reconnect();
    greet(43);
    CHECK(server.id() == ServerId{43});
    muster.say(AbortMatch{muster::LobbyId(5), "Server lost"});  // F-6
    CHECK(noted().back() == "abort 5 Server lost");
    CHECK(server.match_count() == 0);
}

TEST_CASE_FIXTURE(GameServerFixture, "fault 48: an abort of a match that an earlier process ran is not passed on") {
    joined();
    muster.say(AbortMatch{muster::LobbyId(99), "Lost by server"});
    CHECK(noted().empty());
    CHECK(muster.silent());
}

TEST_CASE(
    "fault 28: a thousand servers that lose Muster at one moment come back spread out, and all within 10 s of its "
    "return") {
    // Muster is away for 5 s; each attempt until then is refused.
    constexpr int servers = 1'000;
    int first_tenth = 0;
    Duration latest{};
    for (int i = 0; i < servers; ++i) {
        GameServer server(GameServerFixture::options(), {});
        server.seed_jitter(static_cast<std::uint64_t>(i));
        TestLink<Port::servers> muster(server);
        const Time lost = muster.now();
        const Time back = lost + 5s;
        muster.lose();
        bool first = true;
        while (muster.now() < back) {
            const Time due = *server.next_tick();
            if (due > back) {
                muster.advance(due - muster.now());
                break;
            }
            muster.advance(due - muster.now());
            if (first && muster.now() - lost < 10ms) ++first_tenth;
            first = false;
            REQUIRE(muster.wanted());
            muster.lose();
        }
        latest = std::max(latest, muster.now() - back);
    }
    CHECK(first_tenth > servers / 15);
    CHECK(first_tenth < servers / 7);
    CHECK(latest <= 10s);
}

}  // namespace muster::sdk
