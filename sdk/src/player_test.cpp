#include "muster/player.h"

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "sdk/src/player_fixture.h"

namespace muster::sdk {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> numbers) {
    std::vector<std::byte> bytes;
    for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
    return bytes;
}

}  // namespace

TEST_CASE_FIXTURE(PlayerFixture, "P-2: each ping is echoed at once, and once") {
    logged_in();
    for (int i = 0; i < 3; ++i) {
        muster.say(Ping{});
        muster.heard<PingEcho>();
        CHECK(muster.silent());
    }
}

TEST_CASE_FIXTURE(PlayerFixture, "P-11: a link without a ping for 60 s is dropped, and one at 59.999 s keeps it") {
    logged_in();
    muster.advance(59'999ms);
    muster.forget();
    ping();
    muster.advance(59'999ms);
    CHECK_FALSE(muster.dropped());
    muster.advance(1ms);
    CHECK(muster.dropped());
    CHECK(noted() == Lines{"error No ping from Muster"});
    muster.reconnect();
    CHECK(greet().resume_token == "resume-1");
    CHECK(noted() == Lines{"connecting", "login 7 fresh", "online"});  // Muster has missed as many echoes
}

TEST_CASE("P-11: the ping timeout can be set, and no timeout of 0 is taken") {
    PlayerFixture world({.ping_timeout = 5s});
    world.logged_in();
    world.muster.advance(4'999ms);
    CHECK_FALSE(world.muster.dropped());
    world.muster.advance(1ms);
    CHECK(world.muster.dropped());

    CHECK_THROWS_AS(Player({.ping_timeout = 0s}, {}), std::invalid_argument);
    CHECK_THROWS_AS(Player({.resume_grace = -1s}, {}), std::invalid_argument);
    CHECK_THROWS_AS(Player({.clock_sync_interval = 0s}, {}), std::invalid_argument);
}

TEST_CASE_FIXTURE(PlayerFixture,
                  "P-11: the player may ask for one ping at a time, and only after the first of Muster's") {
    CHECK_FALSE(player.request_ping());
    logged_in();
    CHECK_FALSE(player.request_ping());
    ping();
    CHECK(player.request_ping());
    CHECK_FALSE(player.request_ping());
    muster.advance(0s);
    muster.heard<PingRequest>();
    CHECK_FALSE(player.request_ping());
    muster.advance(40ms);
    muster.say(PingReply{});
    CHECK(noted() == Lines{"ping 40 ms"});
    muster.say(PingReply{});  // nobody asked
    CHECK(noted().empty());
    CHECK(player.request_ping());
    muster.advance(0s);
    muster.heard<PingRequest>();

    muster.reconnect();  // the answer is lost with the link
    greet();
    CHECK_FALSE(player.request_ping());
    ping();
    CHECK(player.request_ping());
    muster.advance(0s);
    muster.heard<PingRequest>();
    CHECK(muster.silent());
}

TEST_CASE_FIXTURE(PlayerFixture,
                  "P-3: the round trip counts from when the request goes out, not from when it was wanted") {
    logged_in();
    ping();
    CHECK(player.request_ping());
    muster.freeze(10s);
    muster.advance(0s);
    muster.heard<PingRequest>();
    muster.advance(25ms);
    muster.say(PingReply{});
    CHECK(noted() == Lines{"ping 25 ms"});
}

TEST_CASE_FIXTURE(PlayerFixture, "H-6: heartbeats are answered with success, unless the callback says otherwise") {
    logged_in();
    muster.say(EntityHeartbeat{41});
    CHECK(muster.heard<EntityHeartbeatAnswer>() == EntityHeartbeatAnswer{.request_id = 41, .status = 1});
    alive = [] { return false; };
    muster.say(EntityHeartbeat{42});
    CHECK(muster.heard<EntityHeartbeatAnswer>() == EntityHeartbeatAnswer{.request_id = 42, .status = 0});
    alive = []() -> bool { throw std::runtime_error("the world is gone"); };
    muster.say(EntityHeartbeat{43});
    CHECK(muster.heard<EntityHeartbeatAnswer>() == EntityHeartbeatAnswer{.request_id = 43, .status = 0});
    CHECK(noted() == Lines{"error the world is gone"});

    Player plain({}, {});
    plain.login("ann", "");
    TestLink<Port::players> link(plain);
    link.connect();
    link.heard<PlayerLogin>();
    link.say(PlayerLoginResponse{PlayerLoginResponse::Accepted{muster::AccountId(7), ""}});
    link.forget();
    link.say(EntityHeartbeat{1});
    CHECK(link.heard<EntityHeartbeatAnswer>().status == 1);
}

TEST_CASE_FIXTURE(PlayerFixture,
                  "P-4: any number of signs of activity is one message a second, and the last is not lost") {
    player.activity();
    logged_in();
    muster.advance(0s);
    CHECK(muster.silent());
    for (int i = 0; i < 100; ++i) player.activity();
    muster.advance(0s);
    muster.heard<PlayerActivity>();
    CHECK(muster.silent());
    muster.advance(400ms);
    player.activity();
    muster.advance(599ms);
    CHECK(muster.silent());
    muster.advance(1ms);
    muster.heard<PlayerActivity>();
    muster.advance(5s);
    CHECK(muster.silent());
}

TEST_CASE_FIXTURE(PlayerFixture, "W-3: the game's own messages have codes 1000 to 4095 and go out as they are") {
    const auto payload = bytes_of({1, 2, 3});
    CHECK_FALSE(player.send(1000, payload));
    logged_in();
    CHECK_FALSE(player.send(999, payload));
    CHECK_FALSE(player.send(4096, payload));
    CHECK_FALSE(player.send(1000, std::vector<std::byte>(8191)));
    CHECK(muster.silent());
    CHECK(player.send(1000, payload));
    CHECK(player.send(4095, std::vector<std::byte>(8190)));
    CHECK(player.send(2000, {}));
    std::vector<std::size_t> sizes;
    std::vector<int> codes;
    while (muster.next([&](const auto& message) {
        if constexpr (std::is_same_v<std::decay_t<decltype(message)>, GameMessage>) {
            codes.push_back(message.code);
            sizes.push_back(message.payload.size());
            if (message.code == 1000) CHECK(std::ranges::equal(message.payload, payload));
        }
    })) {
    }
    CHECK(codes == std::vector{1000, 4095, 2000});
    CHECK(sizes == std::vector<std::size_t>{3, 8190, 0});
    muster.lose();
    CHECK_FALSE(player.send(1000, payload));
}

TEST_CASE("W-3: the player port is big-endian, or little-endian where Muster is set to that") {
    Player big({}, {});
    big.login("ann", "pw");
    big.connected(Time(1s));
    CHECK(big.take_output() == bytes_of({0, 13, 0, 10, 0, 3, 'a', 'n', 'n', 0, 2, 'p', 'w', 0, 0}));

    Player little({.little_endian = true}, {});
    little.login("ann", "pw");
    TestLink<Port::players, ByteOrder::little> muster(little);
    little.connected(Time(2h));
    CHECK(little.take_output() == bytes_of({13, 0, 10, 0, 3, 0, 'a', 'n', 'n', 2, 0, 'p', 'w', 0, 0}));
    little.disconnected(Time(2h));
    muster.freeze(2h);
    muster.advance(10s);
    muster.connect();
    muster.heard<PlayerLogin>();
    muster.say(PlayerLoginResponse{PlayerLoginResponse::Accepted{muster::AccountId(7), "r"}});
    CHECK(little.id() == AccountId{7});
}

TEST_CASE_FIXTURE(PlayerFixture, "A-10: a match is told once, with where it waits and the token, also over a resume") {
    logged_in();
    const PlayerMatchStart first{muster::LobbyId(5), {.ip = "10.0.0.7", .port = 27015}, "abc"};
    muster.say(first);
    CHECK(noted() == Lines{"match 5 at 10.0.0.7:27015 abc"});
    muster.reconnect();
    greet();
    noted();
    muster.say(first);
    CHECK(noted().empty());
    muster.say(PlayerMatchStart{muster::LobbyId(5), {.ip = "10.0.0.8", .port = 70000}, "def"});
    muster.say(PlayerMatchStart{muster::LobbyId(6), {.ip = "10.0.0.8", .port = 27015}, "ghi"});
    CHECK(noted() == Lines{"match 5 at 10.0.0.8:0 def",  // 70000 is no port
                           "match 6 at 10.0.0.8:27015 ghi"});
    muster.say(PlayerMatchStart{muster::LobbyId(5), {.ip = "10.0.0.8", .port = 27015}, "def"});
    CHECK(noted().empty());
    for (int lobby = 100; lobby < 200; ++lobby) muster.say(PlayerMatchStart{muster::LobbyId(lobby), {}, "x"});
    CHECK(noted().size() == 100);
    muster.say(PlayerMatchStart{muster::LobbyId(199), {}, "x"});
    muster.say(PlayerMatchStart{muster::LobbyId(184), {}, "x"});
    CHECK(noted().empty());
}

TEST_CASE_FIXTURE(PlayerFixture, "A-11: a match that falls through is told, and may be told anew after it") {
    logged_in();
    const PlayerMatchStart match{muster::LobbyId(5), {.ip = "10.0.0.7", .port = 27015}, "abc"};
    muster.say(match);
    muster.say(PlayerMatchAborted{muster::LobbyId(6), "No servers available"});
    muster.say(PlayerMatchAborted{muster::LobbyId(5), "Server lost"});
    muster.say(match);
    CHECK(noted() == Lines{"match 5 at 10.0.0.7:27015 abc", "aborted 6 No servers available", "aborted 5 Server lost",
                           "match 5 at 10.0.0.7:27015 abc"});
}

TEST_CASE_FIXTURE(PlayerFixture,
                  "W-5: bytes that are no message cost the link, and a code of a later version does not") {
    logged_in();
    muster.say_bytes(bytes_of({0, 3, 0x7f, 0, 1}));  // code 0x7f00
    CHECK_FALSE(muster.dropped());
    muster.say_bytes(bytes_of({0, 3, 0, 21, 2}));  // a minute without its value
    CHECK(muster.dropped());
    CHECK(noted() == Lines{"error Malformed message: truncated"});
    muster.reconnect();
    CHECK(greet().resume_token == "resume-1");
}

TEST_CASE("fault 13: what a callback throws is told, and the session goes on") {
    Lines lines;
    Player player({}, {.on_login = [](const LoggedIn&) { throw std::runtime_error("oops"); },
                       .on_error = [&](const Outcome& error) { lines.push_back(error.text); }});
    player.login("ann", "");
    TestLink<Port::players> muster(player);
    muster.connect();
    muster.heard<PlayerLogin>();
    muster.say(PlayerLoginResponse{PlayerLoginResponse::Accepted{muster::AccountId(7), ""}});
    CHECK(lines == Lines{"oops"});
    CHECK(player.link_state() == LinkState::online);
}

}  // namespace muster::sdk
