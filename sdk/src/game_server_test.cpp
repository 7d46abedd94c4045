#include "muster/game_server.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sdk/src/game_server_fixture.h"

namespace muster::sdk {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

TEST_CASE_FIXTURE(GameServerFixture,
                  "F-1: once connected the game server shakes hands by itself with what it was given") {
    CHECK(server.link_state() == LinkState::connecting);
    CHECK_FALSE(server.id());
    muster.connect();
    const auto hello = muster.heard<ServerHandshake>();
    CHECK(hello.token == "secret");
    CHECK(hello.endpoint.ip == "10.0.0.7");
    CHECK(hello.endpoint.port == 27015);
    CHECK(hello.region.value == 2);
    CHECK(hello.max_matches == 3);
    CHECK(muster.silent());

    accept_handshake(42);
    CHECK(server.id() == ServerId{42});
    CHECK(server.link_state() == LinkState::online);
    CHECK(noted() == Lines{"online"});
}

TEST_CASE_FIXTURE(GameServerFixture, "F-1: a refused handshake is told and tried again after a pause") {
    muster.connect();
    muster.heard<ServerHandshake>();
    muster.say(ServerHandshakeResponse{Refused{"Invalid token"}});
    CHECK(noted() == Lines{"error Invalid token (game server 10.0.0.7:27015): give it the token that this Muster was "
                           "given (server_token or matchmaker_token)"});
    CHECK(muster.dropped());
    muster.reconnect();
    greet();
    CHECK(noted() == Lines{"online"});
}

TEST_CASE_FIXTURE(GameServerFixture, "F-1: a handshake that is not answered within 10 s is given up") {
    muster.connect();
    muster.heard<ServerHandshake>();
    muster.advance(9'999ms);
    CHECK_FALSE(muster.dropped());
    muster.advance(1ms);
    CHECK(muster.dropped());
    CHECK(noted() == Lines{"error No answer to the handshake"});
}

TEST_CASE_FIXTURE(GameServerFixture,
                  "F-2: heartbeats go out every 10 s by themselves, the first at once, with the load") {
    server.report_load({.cpu_percent = 45.2F, .memory_percent = 62.8F});
    join();
    const auto first = beat();
    CHECK(first.server.value == 42);
    CHECK(first.match_count == 0);
    CHECK(first.cpu_percent == 45.2F);
    CHECK(first.memory_percent == 62.8F);
    for (int i = 0; i < 5; ++i) {
        muster.advance(9'999ms);
        CHECK(muster.silent());
        muster.advance(1ms);
        beat();
    }
}

TEST_CASE_FIXTURE(GameServerFixture,
                  "F-7, G-21: matches of the server's own count in its heartbeats, beside Muster's") {
    server.report_load({.own_matches = 2});
    joined();
    hold_started(5);
    muster.advance(10s);
    CHECK(beat().match_count == 3);
    CHECK(server.match_count() == 1);
    server.report_load({.own_matches = -7});
    muster.advance(10s);
    CHECK(beat().match_count == 1);
}

TEST_CASE("F-4: a load callback is asked before each heartbeat, and figures that are no percentage never go out") {
    float cpu = 10;
    GameServer server(GameServerFixture::options(), {.on_load = [&] { return Load{cpu, -5}; }});
    TestLink<Port::servers> muster(server);
    muster.connect();
    muster.heard<ServerHandshake>();
    muster.say(ServerHandshakeResponse{ServerHandshakeResponse::Accepted{muster::ServerId(1), {}}});
    const auto ack = ServerHeartbeatAck{ServerHeartbeatAck::Accepted{}};
    muster.heard<SetDraining>();
    auto beat = muster.heard<ServerHeartbeat>();
    CHECK(beat.cpu_percent == 10);
    CHECK(beat.memory_percent == 0);
    const float odd[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 250, -1};
    const float shown[] = {0, 0, 100, 0};
    for (int i = 0; i < 4; ++i) {
        muster.say(ack);
        cpu = odd[i];
        muster.advance(10s);
        CHECK(muster.heard<ServerHeartbeat>().cpu_percent == shown[i]);
    }
}

TEST_CASE_FIXTURE(GameServerFixture, "F-4: a refused load report still counts as an acknowledgement") {
    joined();
    muster.advance(10s);
    muster.heard<ServerHeartbeat>();
    muster.say(ServerHeartbeatAck{Refused{"Invalid load report"}});
    CHECK(noted() == Lines{"error Invalid load report"});
    muster.lose();
    muster.advance(29'999ms);
    CHECK(server.link_state() == LinkState::connecting);
    muster.advance(1ms);
    CHECK(server.link_state() == LinkState::isolated);
}

TEST_CASE_FIXTURE(GameServerFixture, "A-6: an offer is put to the callback, and its answer goes out at once") {
    joined();
    offer(5, "abc");
    CHECK(noted() == Lines{"offer 5 abc"});
    CHECK(acknowledged(5));
    CHECK(server.holds(LobbyId{5}));

    decide = [](const Offer& offered) {
        CHECK(offered.game_type == 6);
        CHECK(offered.game_mode == 3);
        return OfferAnswer::decline;
    };
    offer(6);
    CHECK_FALSE(acknowledged(6));
    CHECK_FALSE(server.holds(LobbyId{6}));
    CHECK(server.match_count() == 1);
}

TEST_CASE_FIXTURE(GameServerFixture, "A-6: an offer left for later is answered by answer() or ready() within 5 s") {
    joined();
    decide = [](const Offer&) { return OfferAnswer::later; };
    offer(5);
    CHECK(muster.silent());
    CHECK(server.match_count() == 0);
    muster.advance(4'999ms);
    CHECK(server.answer(LobbyId{5}, OfferAnswer::accept));
    CHECK(acknowledged(5));
    CHECK_FALSE(server.answer(LobbyId{5}, OfferAnswer::decline));  // answered already

    offer(6);
    CHECK(server.ready(LobbyId{6}));
    CHECK(acknowledged(6));
    CHECK(muster.heard<ReadyForMatch>().lobby.value == 6);
}

TEST_CASE_FIXTURE(GameServerFixture,
                  "A-6: an offer not answered for 5 s is declined, and the user is told to drop it") {
    joined();
    decide = [](const Offer&) { return OfferAnswer::later; };
    offer(5);
    noted();
    muster.advance(5s);
    CHECK_FALSE(acknowledged(5));
    CHECK(noted() == Lines{"abort 5 Not answered in time"});
    CHECK_FALSE(server.answer(LobbyId{5}, OfferAnswer::accept));
    CHECK_FALSE(server.ready(LobbyId{5}));
    CHECK(muster.silent());
}

TEST_CASE_FIXTURE(GameServerFixture, "A-6: ready() inside the offer's callback accepts it first") {
    joined();
    decide = [this](const Offer& offered) {
        CHECK(server.ready(offered.lobby));
        return OfferAnswer::accept;
    };
    offer(5, "abc");
    CHECK(acknowledged(5));
    const auto ready = muster.heard<ReadyForMatch>();
    CHECK(ready.server.value == 42);
    CHECK(ready.lobby.value == 5);
    CHECK(ready.token == "abc");
    CHECK(muster.silent());
}

TEST_CASE_FIXTURE(GameServerFixture, "A-7: a withdrawn offer is answered, so that Muster may offer the lobby again") {
    joined();
    decide = [](const Offer&) { return OfferAnswer::later; };
    offer(5);
    noted();
    muster.say(AbortMatch{muster::LobbyId(5), "Offer withdrawn"});
    CHECK_FALSE(acknowledged(5));
    CHECK(noted() == Lines{"abort 5 Offer withdrawn"});
}

TEST_CASE_FIXTURE(GameServerFixture,
                  "F-7: match_count counts every match accepted and not ended, and no more than fit are taken") {
    joined();
    for (const int lobby : {1, 2, 3}) hold(lobby);
    offer(4);
    CHECK_FALSE(acknowledged(4));  // without asking: max_matches is 3
    CHECK(noted().size() == 3);
    muster.advance(10s);
    CHECK(beat().match_count == 3);

    CHECK(server.end(LobbyId{2}));
    CHECK(muster.heard<MatchEndedReport>().lobby.value == 2);
    CHECK(server.match_count() == 2);
    muster.advance(10s);
    CHECK(beat().match_count == 2);
    muster.say(AbortMatch{muster::LobbyId(1), "Cancelled"});
    CHECK(server.match_count() == 1);
    CHECK(noted() == Lines{"abort 1 Cancelled"});
    hold(4);
}

TEST_CASE_FIXTURE(GameServerFixture, "A-10: ready, start and end are reported in order, once each") {
    joined();
    hold(5, "abc");
    CHECK(server.ready(LobbyId{5}));
    CHECK(server.ready(LobbyId{5}));
    CHECK(server.start(LobbyId{5}));
    CHECK(server.start(LobbyId{5}));
    CHECK(server.ready(LobbyId{5}));
    CHECK(server.end(LobbyId{5}));
    CHECK_FALSE(server.end(LobbyId{5}));
    CHECK_FALSE(server.start(LobbyId{5}));
    CHECK(muster.heard<ReadyForMatch>().token == "abc");
    CHECK(muster.heard<MatchStartedReport>().server.value == 42);
    CHECK(muster.heard<MatchEndedReport>().lobby.value == 5);
    CHECK(muster.silent());
    muster.say(ReadyForMatchResponse{LobbyAccepted{muster::LobbyId(5)}});
    answer_report(5);
    answer_report(5);
    CHECK(noted() == Lines{"offer 5 abc"});
}

TEST_CASE_FIXTURE(GameServerFixture,
                  "A-10: a match that Muster does not know is dropped when READY is refused, and the user told") {
    joined();
    int lobby = 1;
    for (const Refusal refusal :
         {Refusal::match_not_found, Refusal::server_not_allocated, Refusal::invalid_match_token}) {
        hold(lobby);
        server.ready(LobbyId{lobby});
        muster.heard<ReadyForMatch>();
        noted();
        refuse_ready(lobby, refusal);
        CHECK(noted() == Lines{"abort " + std::to_string(lobby) + " " + std::string(text(refusal))});
        CHECK_FALSE(server.holds(LobbyId{lobby}));
        CHECK(server.match_count() == 0);
        ++lobby;
    }
}

TEST_CASE_FIXTURE(GameServerFixture, "A-10: a report that Muster cannot take just now is repeated a second later") {
    joined();
    hold(5);
    server.ready(LobbyId{5});
    muster.heard<ReadyForMatch>();
    noted();
    refuse_ready(5, Refusal::server_busy);
    CHECK(noted() == Lines{"error Server busy"});
    CHECK(server.holds(LobbyId{5}));
    muster.advance(999ms);
    CHECK(muster.silent());
    muster.advance(1ms);
    CHECK(muster.heard<ReadyForMatch>().lobby.value == 5);
}

TEST_CASE_FIXTURE(GameServerFixture, "A-10: a refused STARTED drops the match, a refused ENDED is forgotten") {
    joined();
    hold_ready(5);
    server.start(LobbyId{5});
    server.end(LobbyId{5});
    muster.forget();
    hold_ready(6);
    noted();
    refuse_report(5, Refusal::match_not_found);
    refuse_report(5, Refusal::match_not_found);
    CHECK(noted().empty());  // it had ended here anyway
    server.start(LobbyId{6});
    refuse_report(6, Refusal::server_not_allocated);
    CHECK(noted() == Lines{"abort 6 Server not allocated to this match"});
    muster.forget();
    muster.reconnect();
    greet();
    CHECK(muster.heard<ServerHeartbeat>().match_count == 0);
    CHECK(muster.silent());
}

TEST_CASE_FIXTURE(GameServerFixture, "F-5: a new process does not inherit the drain of the one before at its address") {
    SUBCASE("it says so until Muster has heard it, and then leaves the flag alone") {
        join();
        CHECK_FALSE(said_draining);
        muster.reconnect();
        said_draining = true;
        greet();
        CHECK_FALSE(said_draining);
        beat();
        // What anybody has set since, such as the agent of its host, stays.
        muster.reconnect();
        greet();
        muster.heard<ServerHeartbeat>();
        CHECK(muster.silent());
    }
    SUBCASE("unless it is drained itself") {
        server.drain(true);
        join();
        CHECK(said_draining);
        beat();
        offer(5);
        CHECK_FALSE(acknowledged(5));
    }
}

TEST_CASE_FIXTURE(GameServerFixture,
                  "F-5: draining declines offers at once, is told, and is told again after a reconnect") {
    joined();
    server.drain(true);
    const auto set = muster.heard<SetDraining>();
    CHECK(set.server.value == 42);
    CHECK(set.draining);
    muster.say(ServerStatusNotice{muster::ServerId(42), muster::ServerStatus::draining});
    CHECK(noted() == Lines{"status 2"});
    offer(5);
    CHECK_FALSE(acknowledged(5));
    CHECK(noted().empty());

    muster.reconnect();
    greet(43);
    CHECK(muster.heard<SetDraining>().server.value == 43);
    muster.forget();
    server.drain(false);
    CHECK_FALSE(muster.heard<SetDraining>().draining);
    hold(6);
}

TEST_CASE_FIXTURE(GameServerFixture, "F-12: goodbye is said, the link closes, and there is no coming back") {
    joined();
    hold_started(5);
    noted();
    bool told = false;
    server.validate(LobbyId{5}, AccountId{1}, "token", [&](const Outcome& outcome) {
        CHECK(outcome.code == ErrorCode::closed);
        told = true;
    });
    muster.heard<ValidateToken>();
    server.goodbye();
    CHECK(muster.heard<ServerGoodbye>().server.value == 42);
    CHECK(muster.dropped());
    CHECK_FALSE(told);  // not from within the command
    muster.lose();
    muster.advance(1h);
    CHECK(told);
    CHECK(noted() == Lines{"closed"});
    CHECK_FALSE(muster.wanted());
    CHECK(server.match_count() == 0);
    CHECK_FALSE(server.next_tick());
}

TEST_CASE_FIXTURE(GameServerFixture, "F-10: the handshake and each acknowledged heartbeat set the clock") {
    muster.connect();
    muster.heard<ServerHandshake>();
    muster.freeze(40ms);
    accept_handshake();
    REQUIRE(server.clock().known());
    CHECK(server.clock().samples() == 1);
    CHECK(server.clock().round_trip_least() == 40ms);
    muster.heard<ServerHeartbeat>();
    muster.freeze(4ms);
    acknowledge();
    CHECK(server.clock().samples() == 2);
    CHECK(server.clock().round_trip_least() == 4ms);
    const auto error = server.clock().server_time(muster.now()) - UnixTime(std::chrono::milliseconds(time().value));
    CHECK(std::abs(error.count()) < 10'000);
}

TEST_CASE_FIXTURE(GameServerFixture,
                  "fault 13: a callback that throws declines the offer, is told, and the server goes on") {
    joined();
    decide = [](const Offer&) -> OfferAnswer { throw std::runtime_error("no map"); };
    offer(5);
    CHECK_FALSE(acknowledged(5));
    CHECK(noted() == Lines{"offer 5 token", "error no map"});
    decide = nullptr;
    hold(6);
}

TEST_CASE_FIXTURE(GameServerFixture, "W-6: what is no message, or an error of the port, is told") {
    joined();
    muster.say(ServerError{0x1002, "Malformed message: truncated"});
    CHECK(noted() == Lines{"error Malformed message: truncated"});
    const std::byte bad[] = {std::byte{1}, std::byte{0}};
    muster.say_bytes(bad);
    CHECK(noted() == Lines{"error Malformed message: bad_length"});
    CHECK(muster.dropped());
}

TEST_CASE("F-1: options that can never be right are refused at once") {
    const auto refused = [](auto change, const char* why) {
        GameServerOptions options = GameServerFixture::options();
        change(options);
        CHECK_THROWS_WITH_AS(GameServer(options, {}), why, std::invalid_argument);
    };
    refused([](auto& options) { options.token = std::string(257, 'x'); }, "token must be UTF-8 of at most 256 bytes");
    refused([](auto& options) { options.token = "\xff"; }, "token must be UTF-8 of at most 256 bytes");
    refused([](auto& options) { options.ip = std::string(46, '1'); },
            "ip must be an IP address, at most 45 bytes of text");
    refused([](auto& options) { options.max_matches = 0; }, "max_matches must be 1 or more");
    refused([](auto& options) { options.heartbeat_interval = {}; }, "heartbeat_interval must be longer than 0");
    refused([](auto& options) { options.validate_timeout = -1s; }, "validate_timeout must be longer than 0");
    refused([](auto& options) { options.goodbye_timeout = 0s; }, "goodbye_timeout must be longer than 0");
    CHECK_NOTHROW(GameServer(GameServerFixture::options(), {}));
}

}  // namespace muster::sdk
