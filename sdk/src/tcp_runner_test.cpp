#include "muster/tcp_runner.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "muster/game_server.h"
#include "muster/matchmaker.h"
#include "muster/player.h"
#include "sdk/src/fake_muster.h"
#include "sdk/src/runner_fixture.h"
#include "sdk/src/tcp_address.h"

namespace muster::sdk {

namespace {

using namespace std::chrono_literals;

constexpr auto patience = Happening::patience;

// Ports on which nobody listens, until a FakeMuster is made with them.
struct QuietPorts {
    std::uint16_t servers = 0;
    std::uint16_t matchmakers = 0;

    QuietPorts() {
        const FakeMuster muster;
        servers = muster.servers_port();
        matchmakers = muster.matchmakers_port();
    }
    std::string servers_address() const { return "127.0.0.1:" + std::to_string(servers); }
};

// A game server that tells when its link is up.
struct WatchedServer {
    Happening online;
    GameServer server{server_options(), {.on_link = [this](LinkState state) {
                          if (state == LinkState::online) online.happen();
                      }}};
};

}  // namespace

TEST_CASE("A-14: over TCP a match is requested, offered, readied, joined, started and ended") {
    FakeMuster muster;
    TcpRunner runner;
    Happening online;
    Happening ended;
    std::vector<std::string> seen;  // the runner's thread only, until it has stopped

    GameServer* server_address = nullptr;
    GameServer server(server_options(),
                      {.on_offer =
                           [&](const Offer& offer) {
                               server_address->ready(offer.lobby);
                               server_address->validate(
                                   offer.lobby, AccountId{1}, offer.token, [&, offer](const Outcome& outcome) {
                                       if (!outcome) return;
                                       seen.emplace_back("let in");
                                       server_address->start(offer.lobby);
                                       runner.post_after(5ms, [&, offer] { server_address->end(offer.lobby); });
                                   });
                               return OfferAnswer::accept;
                           },
                       .on_link =
                           [&](LinkState state) {
                               if (state == LinkState::online) online.happen();
                           }});
    server_address = &server;
    Matchmaker matchmaker(matchmaker_options(), {.on_event = [&](const MatchEvent& event) {
                              seen.emplace_back(to_string(event.kind));
                              if (event.kind == MatchEventKind::ended) ended.happen();
                          }});
    runner.add(server, muster.servers_address());
    runner.add(matchmaker, muster.matchmakers_address());
    REQUIRE(runner.start());
    REQUIRE(online.wait());
    runner.post([&] {
        const std::vector<AccountId> players{AccountId{1}};
        matchmaker.players(LobbyId{5}, players, {});
        matchmaker.request({.lobby = LobbyId{5}, .region = RegionId{2}, .player_count = 1},
                           [&](const Allocation& allocation) {
                               seen.push_back(allocation ? allocation.ip + ":" + std::to_string(allocation.port)
                                                         : allocation.outcome.text);
                           });
    });
    REQUIRE(ended.wait());
    runner.stop();
    runner.wait();
    CHECK(seen == std::vector<std::string>{"127.0.0.1:27015", "ready", "let in", "started", "ended"});
    CHECK(server.match_count() == 0);
    CHECK(server.clock().known());
    CHECK(server.link_state() == LinkState::connecting);
}

TEST_CASE("F-6: after a cut link the runner connects again by itself, and a request asked meanwhile is answered") {
    FakeMuster muster;
    Happening first;
    Happening again;
    Happening answered;
    std::atomic<int> onlines{0};
    GameServer server(server_options(), {.on_offer = [](const Offer&) { return OfferAnswer::accept; }});
    Matchmaker matchmaker(matchmaker_options(), {.on_link = [&](LinkState state) {
                              if (state != LinkState::online) return;
                              if (++onlines == 1) first.happen();
                              if (onlines == 2) again.happen();
                          }});
    std::atomic<int> told{0};
    TcpRunner runner([&](const Outcome& why) { told += why.code == ErrorCode::connection_lost ? 1 : 0; });
    runner.add(server, muster.servers_address());
    runner.add(matchmaker, "localhost:" + std::to_string(muster.matchmakers_port()));  // a name, looked up each time
    REQUIRE(runner.start());
    REQUIRE(first.wait());
    muster.cut_links();
    REQUIRE(again.wait());
    std::function<void()> ask = [&] {
        matchmaker.request({.lobby = LobbyId{7}, .region = RegionId{2}, .player_count = 1},
                           [&](const Allocation& allocation) {
                               // The game server may come back a moment later than the matchmaker.
                               if (allocation) return answered.happen();
                               runner.post_after(10ms, ask);
                           });
    };
    runner.post(ask);
    CHECK(answered.wait());
    CHECK(told >= 2);
}

TEST_CASE("fault 28: the runner keeps trying while nobody listens, and is there when Muster comes") {
    const QuietPorts ports;
    Happening refused;
    WatchedServer watched;
    TcpRunner runner([&](const Outcome& why) {
        if (why.text.find("Connection refused") != std::string::npos) refused.happen();
    });
    runner.add(watched.server, ports.servers_address());
    REQUIRE(runner.start());
    REQUIRE(refused.wait());
    const FakeMuster muster(ports.servers, ports.matchmakers);
    CHECK(watched.online.wait());
}

TEST_CASE("SDK: a client knows why it has no link, until it has one") {
    const QuietPorts ports;
    Happening refused;
    WatchedServer watched;
    CHECK(watched.server.failure());
    TcpRunner runner([&](const Outcome&) { refused.happen(); });
    runner.add(watched.server, ports.servers_address());
    REQUIRE(runner.start());
    REQUIRE(refused.wait());
    Happening seen;
    Outcome failure;
    runner.post([&] {
        failure = watched.server.failure();
        seen.happen();
    });
    REQUIRE(seen.wait());
    CHECK(failure == Outcome{ErrorCode::connection_lost, ports.servers_address() + ": Connection refused"});
    const FakeMuster muster(ports.servers, ports.matchmakers);
    REQUIRE(watched.online.wait());
    runner.stop();
    runner.wait();
    CHECK(watched.server.failure());
}

TEST_CASE("P-6: over TCP a player logs in, hears of its match, resumes after a cut link and logs out") {
    FakeMuster muster;
    TcpRunner runner;
    Happening pinged;
    Happening matched;
    Happening resumed;
    std::vector<std::string> seen;  // the runner's thread only, until it has stopped

    Player* player_address = nullptr;
    Player player({}, {.on_login =
                           [&](const LoggedIn& login) {
                               seen.emplace_back(login.resumed ? "resumed" : "fresh");
                               if (login.resumed) resumed.happen();
                           },
                       .on_match_start =
                           [&](const MatchStart& match) {
                               seen.push_back(match.ip + ":" + std::to_string(match.port) + " " + match.token);
                               matched.happen();
                           },
                       .on_link =
                           [&](LinkState state) {
                               if (state == LinkState::online) player_address->send(1000, {});
                           },
                       .on_time = [&](const WorldTime& time) { seen.emplace_back(day_name(time.day)); },
                       .on_ping =
                           [&](Duration round_trip) {
                               if (round_trip > 0s && round_trip < patience) pinged.happen();
                           },
                       .on_heartbeat =
                           [&] {
                               player_address->request_ping();  // Muster's first ping came before
                               return true;
                           }});
    player_address = &player;
    GameServer* server_address = nullptr;
    GameServer server(server_options(), {.on_offer = [&](const Offer& offer) {
                          server_address->ready(offer.lobby);
                          return OfferAnswer::accept;
                      }});
    server_address = &server;
    Matchmaker matchmaker(matchmaker_options(), {});
    player.login("ann", "secret");
    runner.add(player, muster.players_address());
    runner.add(server, muster.servers_address());
    runner.add(matchmaker, muster.matchmakers_address());
    REQUIRE(runner.start());
    REQUIRE(pinged.wait());
    std::function<void()> ask = [&] {
        matchmaker.players(LobbyId{5}, std::vector{*player.id()}, {});
        matchmaker.request({.lobby = LobbyId{5}, .region = RegionId{2}, .player_count = 1},
                           [&](const Allocation& answer) {
                               // The game server may be there a moment later than the matchmaker.
                               if (!answer) runner.post_after(10ms, ask);
                           });
    };
    runner.post(ask);
    REQUIRE(matched.wait());
    muster.cut_links();
    REQUIRE(resumed.wait());
    runner.post([&] { player.logout(); });
    runner.stop();
    runner.wait();
    CHECK(seen == std::vector<std::string>{"fresh", "Tue.", "127.0.0.1:27015 MATCH_5", "resumed"});
    CHECK(player.link_state() == LinkState::closed);
    CHECK(player.clock().known());
    const auto give_up = std::chrono::steady_clock::now() + patience;
    while (muster.logouts() == 0 && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
    CHECK(muster.logouts() == 1);
    CHECK(muster.resumes() == 1);
    CHECK(muster.game_messages() == 2);
}

TEST_CASE("P-1: over TCP a refused player is left alone until it is given another credential") {
    FakeMuster muster;
    TcpRunner runner;
    Happening refused;
    Happening online;
    Player player({}, {.on_login = [&](const LoggedIn&) { online.happen(); },
                       .on_refused = [&](const Outcome&) { refused.happen(); }});
    player.login("ann", "wrong");
    runner.add(player, muster.players_address());
    REQUIRE(runner.start());
    REQUIRE(refused.wait());
    runner.post_after(200ms, [&] { player.login("ann", "right"); });
    REQUIRE(online.wait());
    runner.stop();
    runner.wait();
    CHECK(muster.handshakes() == 1);
}

TEST_CASE("F-12: what is said before stop() still goes out: a goodbye is heard") {
    FakeMuster muster;
    TcpRunner runner;
    Happening online;
    GameServer server(server_options(), {.on_link = [&](LinkState state) {
                          if (state == LinkState::online) online.happen();
                      }});
    runner.add(server, muster.servers_address());
    REQUIRE(runner.start());
    REQUIRE(online.wait());
    runner.post([&] { server.goodbye(); });
    runner.stop();
    runner.wait();
    CHECK(server.link_state() == LinkState::closed);
    const auto give_up = std::chrono::steady_clock::now() + patience;
    while (muster.goodbyes() == 0 && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
    CHECK(muster.goodbyes() == 1);
}

TEST_CASE("fault 13: what a posted function throws is told, and the runner goes on, and functions run in their order") {
    std::vector<int> order;
    std::string told;
    TcpRunner runner([&](const Outcome& error) { told = error.text; });
    runner.post([&] { order.push_back(1); });
    runner.post([] { throw std::runtime_error("oops"); });
    runner.post([&] { order.push_back(2); });
    runner.post_after(2ms, [&] {
        order.push_back(4);
        runner.stop();
    });
    runner.post_after(1ms, [&] { order.push_back(3); });
    runner.run();
    CHECK(order == std::vector{1, 2, 3, 4});
    CHECK(told == "oops");
}

TEST_CASE("A-14: many threads may post, and a runner can run again after a stop") {
    TcpRunner runner;
    int count = 0;  // the runner's thread only
    REQUIRE(runner.start());
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int j = 0; j < 1'000; ++j) runner.post([&] { ++count; });
        });
    }
    for (std::thread& thread : threads) thread.join();
    runner.stop();
    runner.wait();
    CHECK(count == 4'000);

    runner.post([&] { ++count; });
    runner.stop();
    runner.run();  // stopped before it began: does what was posted, and returns
    CHECK(count == 4'001);
}

TEST_CASE("F-12: a client that was removed is left alone, with its connection closed") {
    FakeMuster muster;
    TcpRunner runner;
    Happening online;
    Happening removed;
    auto server = std::make_unique<GameServer>(server_options(), GameServerCallbacks{.on_link = [&](LinkState state) {
                                                   if (state == LinkState::online) online.happen();
                                               }});
    runner.add(*server, muster.servers_address());
    REQUIRE(runner.start());
    REQUIRE(online.wait());
    runner.post([&] {
        runner.remove(*server);
        CHECK(server->link_state() == LinkState::connecting);
        server.reset();
        removed.happen();
    });
    CHECK(removed.wait());
}

TEST_CASE("F-2: one runner keeps a hundred game servers alive") {
    FakeMuster muster;
    TcpRunner runner;
    Happening all_online;
    std::atomic<int> online{0};
    std::vector<std::unique_ptr<GameServer>> servers;
    for (int i = 0; i < 100; ++i) {
        servers.push_back(std::make_unique<GameServer>(server_options(static_cast<std::uint16_t>(20'000 + i)),
                                                       GameServerCallbacks{.on_link = [&](LinkState state) {
                                                           if (state == LinkState::online && ++online == 100) {
                                                               all_online.happen();
                                                           }
                                                       }}));
        runner.add(*servers.back(), muster.servers_address());
    }
    REQUIRE(runner.start());
    CHECK(all_online.wait());
    runner.stop();
    runner.wait();
}

TEST_CASE("A-14: an address is a literal or a name with a port, and anything else is refused") {
    CHECK(TcpAddress::parse("127.0.0.1:11032") == TcpAddress{"127.0.0.1", 11032});
    CHECK(TcpAddress::parse("[::1]:11032") == TcpAddress{"::1", 11032});
    CHECK(TcpAddress::parse("muster.example:1") == TcpAddress{"muster.example", 1});
    CHECK(TcpAddress{"::1", 5}.to_string() == "[::1]:5");
    CHECK(literal_addresses({"::1", 5}).size() == 1);
    CHECK(literal_addresses({"localhost", 5}).empty());
    CHECK_FALSE(look_up({"localhost", 5}).empty());

    GameServer server(server_options(), {});
    TcpRunner runner;
    for (const char* bad : {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:1x",
                            "::1:5", ":11032", "host:-1", "host: 1"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS(runner.add(server, bad), std::invalid_argument);
    }
}

TEST_CASE("N-6: of several addresses the next one is tried as soon as one refuses, and after a link was lost") {
    FakeMuster one;
    FakeMuster two;
    Happening first;
    Happening again;
    std::atomic<int> onlines{0};
    Matchmaker matchmaker(matchmaker_options(), {.on_link = [&](LinkState state) {
                              if (state != LinkState::online) return;
                              (onlines.fetch_add(1) == 0 ? first : again).happen();
                          }});
    TcpRunner runner;
    // Nobody listens at the first.
    runner.add(matchmaker, "127.0.0.1:1," + one.matchmakers_address() + "," + two.matchmakers_address());
    REQUIRE(runner.start());
    REQUIRE(first.wait());
    one.cut_links();
    REQUIRE(again.wait());
    CHECK(two.handshakes() == 1);
    runner.stop();
    runner.wait();
}

TEST_CASE("N-6: a list of addresses is refused as a whole when one of them is none, or there are too many") {
    CHECK(TcpAddress::parse_list("a:1").size() == 1);
    CHECK(TcpAddress::parse_list("a:1,[::1]:2,b:3").size() == 3);
    for (const char* bad : {"", ",", "a:1,", ",a:1", "a:1,b", "a:1,,b:2", "a:1 b:2"}) {
        CAPTURE(bad);
        CHECK(TcpAddress::parse_list(bad).empty());
    }
    std::string many = "a:1";
    for (int i = 0; i < 15; ++i) many += ",a:1";
    CHECK(TcpAddress::parse_list(many).size() == 16);
    CHECK(TcpAddress::parse_list(many + ",a:1").empty());
}

}  // namespace muster::sdk
