#include "muster/matchmaker.h"

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "protocol/error_texts.h"
#include "protocol/matchmaker_messages.h"
#include "sdk/src/test_link.h"

namespace muster::sdk {

namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

struct MatchmakerFixture {
    static MatchmakerOptions options() {
        return {.token = "secret", .matchmaker_id = "chat-1", .regions = {RegionId{0}, RegionId{2}}};
    }
    MatchmakerCallbacks callbacks() {
        return {
            .on_event =
                [this](const MatchEvent& event) {
                    note("event " + std::to_string(event.lobby.value) + " " + std::string(to_string(event.kind)) +
                         (event.reason.empty() ? "" : " " + event.reason));
                },
            .on_link =
                [this](LinkState state) {
                    note(state == LinkState::online ? "online" : state == LinkState::closed ? "closed" : "connecting");
                },
            .on_error = [this](const Outcome& error) { note("error " + error.text); }};
    }

    void note(std::string line) { lines.push_back(std::move(line)); }
    Lines noted() { return std::exchange(lines, {}); }

    void greet() {
        muster.heard<MatchmakerHandshake>();
        muster.say(MatchmakerHandshakeResponse{MatchmakerHandshakeResponse::Accepted{UnixMs{1'700'000'000'000}, {}}});
    }
    void acknowledge() { muster.say(MatchmakerHeartbeatAck{.time = UnixMs{1'700'000'000'000}}); }
    void beat() {
        muster.heard<MatchmakerHeartbeat>();
        acknowledge();
    }
    void joined() {
        muster.connect();
        greet();
        beat();
        noted();
    }

    void request(int lobby) {
        matchmaker.request(
            {.lobby = LobbyId{lobby},
             .game_type = 6,
             .game_mode = 3,
             .region = RegionId{2},
             .player_count = 10,
             .average_rating = 1650},
            [this, lobby](const Allocation& allocation) {
                CHECK(allocation.lobby == LobbyId{lobby});
                const std::string place = allocation.ip + ":" + std::to_string(allocation.port);
                note("lobby " + std::to_string(lobby) + " " +
                     (allocation ? place + " " + allocation.token : std::string(to_string(allocation.outcome.code))));
            });
    }
    void allocate(int lobby) {
        muster.say(AllocationResponse{AllocationResponse::Accepted{.lobby = muster::LobbyId(lobby),
                                                                   .server = muster::ServerId(7),
                                                                   .endpoint = {.ip = "10.0.0.7", .port = 27015},
                                                                   .token = "MATCH",
                                                                   .time = UnixMs{1'700'000'000'500}}});
    }
    void refuse(int lobby, Refusal refusal) {
        muster.say(AllocationResponse{LobbyRefused{muster::LobbyId(lobby), text(refusal)}});
    }
    void event(int lobby, muster::MatchEventKind kind, std::string_view reason = "") {
        muster.say(MatchEventNotice{muster::LobbyId(lobby), kind, reason});
    }

    Lines lines;
    Matchmaker matchmaker{options(), callbacks()};
    TestLink<Port::matchmakers> muster{matchmaker};
};

}  // namespace

TEST_CASE_FIXTURE(MatchmakerFixture,
                  "A-1: once connected the matchmaker shakes hands by itself and learns the servers") {
    muster.connect();
    const auto hello = muster.heard<MatchmakerHandshake>();
    CHECK(hello.token == "secret");
    CHECK(hello.matchmaker == "chat-1");
    REQUIRE(hello.regions.items.size() == 2);
    CHECK(hello.regions.items[1].value == 2);
    CHECK(muster.silent());

    MatchmakerHandshakeResponse::Accepted accepted{UnixMs{1'700'000'000'000}, {}};
    accepted.servers.items.push_back({.server = muster::ServerId(7),
                                      .endpoint = {.ip = "10.0.0.7", .port = 27015},
                                      .region = muster::RegionId(2),
                                      .max_matches = 4});
    muster.say(MatchmakerHandshakeResponse{accepted});
    CHECK(noted() == Lines{"online"});
    CHECK(matchmaker.link_state() == LinkState::online);
    REQUIRE(matchmaker.servers().size() == 1);
    const KnownServer& known = matchmaker.servers()[0];
    CHECK(known.server == ServerId{7});
    CHECK(known.ip == "10.0.0.7");
    CHECK(known.port == 27015);
    CHECK(known.region == RegionId{2});
    CHECK(known.max_matches == 4);
    CHECK(matchmaker.clock().known());
}

TEST_CASE_FIXTURE(MatchmakerFixture,
                  "A-1: heartbeats go out every 30 s, and one without an answer for 45 s means a dead link") {
    joined();
    for (int i = 0; i < 3; ++i) {
        muster.advance(29'999ms);
        CHECK(muster.silent());
        muster.advance(1ms);
        beat();
    }
    muster.advance(30s);
    muster.heard<MatchmakerHeartbeat>();
    muster.advance(44'999ms);
    CHECK_FALSE(muster.dropped());
    muster.advance(1ms);
    CHECK(muster.dropped());
    CHECK(noted() == Lines{"error No answer to a heartbeat"});
}

TEST_CASE_FIXTURE(MatchmakerFixture, "A-1: a refused handshake is told and tried again after a pause") {
    muster.connect();
    muster.heard<MatchmakerHandshake>();
    muster.say(MatchmakerHandshakeResponse{Refused{"Invalid region"}});
    CHECK(noted() == Lines{"error Invalid region (matchmaker " + MatchmakerFixture::options().matchmaker_id +
                           "): give it a region of fleet.regions in Muster's config"});
    CHECK(muster.dropped());
    muster.reconnect();
    greet();
    CHECK(noted() == Lines{"online"});
}

TEST_CASE_FIXTURE(MatchmakerFixture, "A-14: a request goes out as given, and its answer comes back once") {
    joined();
    request(5);
    const auto asked = muster.heard<AllocationRequest>();
    CHECK(asked.lobby.value == 5);
    CHECK(asked.game_type == 6);
    CHECK(asked.game_mode == 3);
    CHECK(asked.region.value == 2);
    CHECK(asked.player_count == 10);
    CHECK(asked.average_rating == 1650);
    CHECK(matchmaker.requests_waiting() == 1);
    allocate(5);
    CHECK(noted() == Lines{"lobby 5 10.0.0.7:27015 MATCH"});
    allocate(5);
    CHECK(noted().empty());
    CHECK(matchmaker.requests_waiting() == 0);

    request(6);
    refuse(6, Refusal::no_servers_available);
    CHECK(noted() == Lines{"lobby 6 no_servers_available"});
    request(6);  // a failed request may be asked again
    muster.forget();
    allocate(6);
    CHECK(noted() == Lines{"lobby 6 10.0.0.7:27015 MATCH"});
}

TEST_CASE_FIXTURE(MatchmakerFixture,
                  "A-14: without an answer for 30 s the match is off: the caller is told, and Muster is") {
    joined();
    request(5);
    muster.forget();
    muster.advance(29'999ms);
    CHECK(noted().empty());
    muster.advance(1ms);
    CHECK(noted() == Lines{"lobby 5 no_answer"});
    CHECK(muster.heard<CancelMatch>().lobby.value == 5);
    // The answer that comes after all is nobody's; the cancel takes care of it.
    allocate(5);
    CHECK(noted().empty());
    event(5, muster::MatchEventKind::aborted, "Cancelled");
    CHECK(noted() == Lines{"event 5 aborted Cancelled"});
}

TEST_CASE_FIXTURE(MatchmakerFixture, "A-14: a request that times out without a link is withdrawn on the next one") {
    joined();
    request(5);
    muster.lose();
    request(6);  // never sent, so there is nothing to withdraw
    muster.advance(30s);
    CHECK(noted() == Lines{"connecting", "lobby 5 no_answer", "lobby 6 no_answer"});
    muster.connect();
    greet();
    CHECK(muster.heard<CancelMatch>().lobby.value == 5);
    beat();
    CHECK(muster.silent());
    // Unanswered, it is said again.
    muster.reconnect();
    greet();
    CHECK(muster.heard<CancelMatch>().lobby.value == 5);
    beat();
    event(5, muster::MatchEventKind::aborted, "Match not found");
    muster.reconnect();
    greet();
    beat();
    CHECK(muster.silent());
}

TEST_CASE("A-14: the 30 s of a request that was made before the client was ever driven start when it is") {
    ErrorCode code = ErrorCode::none;
    Matchmaker matchmaker(MatchmakerFixture::options(), {});
    matchmaker.request({.lobby = LobbyId{5}}, [&](const Allocation& allocation) { code = allocation.outcome.code; });
    TestLink<Port::matchmakers> muster(matchmaker);
    muster.advance(29'999ms);
    CHECK(code == ErrorCode::none);
    muster.advance(1ms);
    CHECK(code == ErrorCode::no_answer);
}

TEST_CASE_FIXTURE(MatchmakerFixture,
                  "A-8: every request without an answer is asked again after a reconnect, in order") {
    joined();
    request(5);
    request(6);
    request(7);
    allocate(6);
    muster.lose();
    request(8);
    noted();
    muster.advance(1s);
    muster.connect();
    greet();
    CHECK(muster.heard<AllocationRequest>().lobby.value == 5);
    CHECK(muster.heard<AllocationRequest>().lobby.value == 7);
    CHECK(muster.heard<AllocationRequest>().lobby.value == 8);
    beat();
    CHECK(muster.silent());
    allocate(5);
    CHECK(noted() == Lines{"online", "lobby 5 10.0.0.7:27015 MATCH"});
    muster.advance(28'999ms);  // the 30 s go on from the first time
    CHECK(noted().empty());
    muster.advance(1ms);
    CHECK(noted() == Lines{"lobby 7 no_answer", "lobby 8 no_answer"});
}

TEST_CASE_FIXTURE(MatchmakerFixture, "A-14: cancel withdraws a waiting request, and tells its caller") {
    joined();
    request(5);
    muster.forget();
    matchmaker.cancel(LobbyId{5});
    CHECK(muster.heard<CancelMatch>().lobby.value == 5);
    CHECK(noted().empty());  // never from within the call
    muster.advance(0s);
    CHECK(noted() == Lines{"lobby 5 cancelled"});
    request(5);  // its answer could not be told from the old one's
    muster.advance(0s);
    CHECK(noted() == Lines{"lobby 5 already_asked"});
    CHECK(muster.silent());
    refuse(5, Refusal::allocation_cancelled);
    event(5, muster::MatchEventKind::aborted, "Cancelled");
    CHECK(noted() == Lines{"event 5 aborted Cancelled"});
    request(5);
    CHECK(muster.heard<AllocationRequest>().lobby.value == 5);
    request(5);
    muster.advance(0s);
    CHECK(noted() == Lines{"lobby 5 already_asked"});
}

TEST_CASE_FIXTURE(MatchmakerFixture,
                  "A-11: cancel aborts a match that was allocated, and a request that never went out is just gone") {
    joined();
    request(5);
    allocate(5);
    muster.forget();
    matchmaker.cancel(LobbyId{5});
    matchmaker.cancel(LobbyId{5});
    CHECK(muster.heard<CancelMatch>().lobby.value == 5);
    CHECK(muster.silent());

    muster.lose();
    request(6);
    matchmaker.cancel(LobbyId{6});
    muster.advance(1s);
    muster.connect();
    greet();
    CHECK(muster.heard<CancelMatch>().lobby.value == 5);
    beat();
    CHECK(muster.silent());
    CHECK(noted().back() == "online");
}

TEST_CASE_FIXTURE(MatchmakerFixture, "A-10: events are passed on, in order, after a reconnect too") {
    joined();
    event(5, muster::MatchEventKind::ready);
    event(5, muster::MatchEventKind::started);
    CHECK(noted() == Lines{"event 5 ready", "event 5 started"});
    muster.reconnect();
    greet();
    event(5, muster::MatchEventKind::ended, "Reported by heartbeat");
    event(6, muster::MatchEventKind::aborted, "Server lost");
    noted();
    beat();
    CHECK(noted().empty());
}

TEST_CASE_FIXTURE(MatchmakerFixture,
                  "K-2: a list of players is sent whole, answered once, and repeated after a reconnect") {
    joined();
    const std::vector<AccountId> accounts{AccountId{11}, AccountId{12}};
    const auto done = [this](const Outcome& outcome) { note("players " + std::string(to_string(outcome.code))); };
    matchmaker.players(LobbyId{5}, accounts, done);
    const auto list = muster.heard<MatchPlayers>();
    CHECK(list.lobby.value == 5);
    REQUIRE(list.accounts.items.size() == 2);
    CHECK(list.accounts.items[1].value == 12);
    muster.reconnect();
    greet();
    CHECK(muster.heard<MatchPlayers>() == list);
    noted();
    muster.say(MatchPlayersResponse{LobbyAccepted{muster::LobbyId(5)}});
    CHECK(noted() == Lines{"players none"});

    matchmaker.players(LobbyId{5}, accounts, done);
    muster.say(MatchPlayersResponse{LobbyRefused{muster::LobbyId(5), "Store unavailable"}});
    CHECK(noted() == Lines{"players store_unavailable"});

    muster.forget();
    matchmaker.players(LobbyId{5}, std::vector<AccountId>(128), done);
    muster.advance(0s);
    CHECK(noted() == Lines{"players invalid_argument"});
    CHECK(muster.silent());
    matchmaker.players(LobbyId{5}, std::vector<AccountId>(127), done);
    CHECK(muster.heard<MatchPlayers>().accounts.items.size() == 127);
    muster.advance(30s);
    CHECK(noted() == Lines{"players no_answer"});
}

TEST_CASE_FIXTURE(MatchmakerFixture, "A-14: close ends every request and the link, for good") {
    joined();
    request(5);
    matchmaker.close();
    CHECK(muster.dropped());
    muster.lose();
    muster.advance(1h);
    CHECK(noted() == Lines{"lobby 5 closed", "closed"});
    CHECK_FALSE(muster.wanted());
    request(6);
    muster.advance(0s);
    CHECK(noted() == Lines{"lobby 6 closed"});
}

TEST_CASE_FIXTURE(MatchmakerFixture, "fault 13: a callback that throws is told, and the matchmaker goes on") {
    joined();
    matchmaker.request({.lobby = LobbyId{5}}, [](const Allocation&) { throw std::runtime_error("no players"); });
    allocate(5);
    CHECK(noted() == Lines{"error no players"});
    request(6);
    allocate(6);
    CHECK(noted() == Lines{"lobby 6 10.0.0.7:27015 MATCH"});
}

TEST_CASE_FIXTURE(MatchmakerFixture, "invariant 18: no more requests wait than the limit") {
    for (std::size_t i = 0; i < Matchmaker::asks_max; ++i)
        matchmaker.request({.lobby = LobbyId{static_cast<int>(i) + 1}}, {});
    request(1'000'000);
    muster.advance(0s);
    CHECK(noted() == Lines{"lobby 1000000 too_many_requests"});
    muster.connect();
    greet();
    CHECK(muster.count_of<AllocationRequest>() == Matchmaker::asks_max);
}

TEST_CASE("A-1: options that can never be right are refused at once") {
    const auto refused = [](auto change) {
        MatchmakerOptions options = MatchmakerFixture::options();
        change(options);
        CHECK_THROWS_AS(Matchmaker(options, {}), std::invalid_argument);
    };
    refused([](auto& options) { options.matchmaker_id = ""; });
    refused([](auto& options) { options.matchmaker_id = "chat 1"; });
    refused([](auto& options) { options.matchmaker_id = std::string(65, 'x'); });
    refused([](auto& options) { options.regions.clear(); });
    refused([](auto& options) { options.regions.resize(128); });
    refused([](auto& options) { options.token = std::string(257, 'x'); });
    refused([](auto& options) { options.request_timeout = {}; });
    CHECK_NOTHROW(Matchmaker(MatchmakerFixture::options(), {}));
}

}  // namespace muster::sdk
