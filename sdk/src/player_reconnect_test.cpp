#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "muster/player.h"
#include "sdk/src/player_fixture.h"

namespace muster::sdk {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

TEST_CASE_FIXTURE(PlayerFixture, "P-6: after a lost link the session is resumed, each time with the newest token") {
    log_in(7, "first");
    noted();
    muster.lose();
    CHECK(noted() == Lines{"connecting"});
    CHECK(player.id() == AccountId{7});
    muster.advance(100ms);
    muster.connect();
    const PlayerLogin again = greet(7, "second");
    CHECK(again.player_name == "ann");
    CHECK(again.credential == "secret");
    CHECK(again.resume_token == "first");
    CHECK(noted() == Lines{"login 7 resumed", "online"});
    muster.reconnect();
    CHECK(greet(7, "third").resume_token == "second");
}

TEST_CASE_FIXTURE(PlayerFixture,
                  "P-6: attempts that fail change nothing, and the token is kept for the one that does not") {
    logged_in();
    muster.lose();
    for (int i = 0; i < 5; ++i) {
        while (!muster.wanted()) muster.advance(100ms);
        muster.lose();
    }
    while (!muster.wanted()) muster.advance(100ms);
    muster.connect();
    noted();
    CHECK(greet().resume_token == "resume-1");
    CHECK(noted() == Lines{"login 7 resumed", "online"});
}

TEST_CASE_FIXTURE(PlayerFixture, "P-6: a token whose answer was lost is shown again, but may have been used up") {
    logged_in();
    muster.reconnect();
    CHECK(muster.heard<PlayerLogin>().resume_token == "resume-1");
    muster.reconnect();
    noted();
    CHECK(greet().resume_token == "resume-1");
    CHECK(noted() == Lines{"login 7 fresh", "online"});
}

TEST_CASE("P-6: a session is taken to be resumed up to 30 s after the link was lost, and for the same player only") {
    const auto told_after = [](Duration away, std::int32_t id) {
        PlayerFixture world;
        world.logged_in();
        world.muster.lose();
        world.muster.advance(away);
        world.muster.connect();
        world.noted();
        world.greet(id);
        return world.noted().front();
    };
    CHECK(told_after(30s, 7) == "login 7 resumed");
    CHECK(told_after(30'001ms, 7) == "login 7 fresh");
    CHECK(told_after(1s, 8) == "login 8 fresh");
}

TEST_CASE("P-5: after a reason that passes the player comes back by itself") {
    for (const char* reason : {"Server shutting down", "Ping timeout", "Heartbeat failed", "Handshake timeout",
                               "Too many messages", "Internal error", "Malformed message: truncated"}) {
        CAPTURE(reason);
        PlayerFixture world;
        world.logged_in();
        world.close(reason);
        CHECK(world.noted() == Lines{"closed " + std::string(reason) + ", comes back"});
        CHECK(world.muster.dropped());
        world.muster.reconnect();
        CHECK(world.greet().resume_token.empty());  // the session ended with the reason
        CHECK(world.noted() == Lines{"connecting", "login 7 fresh", "online"});
    }
}

TEST_CASE("P-5, P-7: sent away by a person, the player stays away until the next login()") {
    for (const char* reason : {"Logged in elsewhere", "Kicked", "Idle too long", "You know what you did", ""}) {
        CAPTURE(reason);
        PlayerFixture world;
        world.logged_in();
        world.close(reason);
        CHECK(world.noted() == Lines{"closed " + std::string(reason) + ", stays away", "closed"});
        CHECK(world.player.link_state() == LinkState::closed);
        CHECK(world.muster.dropped());
        world.muster.lose();
        world.muster.advance(1h);
        CHECK_FALSE(world.muster.wanted());
        CHECK_FALSE(world.player.next_tick());
        CHECK(world.noted().empty());

        world.player.login("ann", "secret");
        world.muster.connect();
        CHECK(world.greet().resume_token.empty());
        CHECK(world.noted() == Lines{"login 7 fresh", "online"});
    }
}

TEST_CASE_FIXTURE(PlayerFixture, "P-7: a game that wants its place back says so from within the callback") {
    logged_in();
    also = [this] { player.login("ann", "secret"); };
    close("Logged in elsewhere");
    CHECK(player.link_state() == LinkState::connecting);
    muster.reconnect();
    greet();
    CHECK(noted() == Lines{"closed Logged in elsewhere, stays away", "login 7 fresh", "online"});
}

TEST_CASE_FIXTURE(PlayerFixture, "P-5: a close before the answer to the login is told, too") {
    player.login("ann", "secret");
    muster.connect();
    close("Handshake timeout");
    CHECK(noted() == Lines{"closed Handshake timeout, comes back"});
    muster.reconnect();
    greet();
    CHECK(noted() == Lines{"login 7 fresh", "online"});
}

TEST_CASE_FIXTURE(PlayerFixture, "P-1: a login without an answer for 10 s is given up and tried on a new link") {
    player.login("ann", "secret");
    muster.connect();
    muster.advance(9'999ms);
    CHECK_FALSE(muster.dropped());
    muster.advance(1ms);
    CHECK(muster.dropped());
    CHECK(noted() == Lines{"error No answer to the login"});
    muster.reconnect();
    greet();
}

TEST_CASE_FIXTURE(PlayerFixture,
                  "fault 28: pauses grow while links come to nothing, and a ping makes them short again") {
    player.seed_jitter(3);
    logged_in();
    const auto pause = [&] {
        muster.lose();
        return *player.next_tick() - muster.now();
    };
    const auto log_in_again = [&] {
        muster.advance(10s);
        muster.connect();
        greet();
    };
    Duration longest{};
    for (int i = 0; i < 12; ++i) {
        const Duration waited = pause();
        CHECK(waited <= std::min<Duration>(10s, 100ms * (1 << std::min(i, 7))));
        longest = std::max(longest, waited);
        log_in_again();
    }
    CHECK(longest > 2s);
    ping();
    CHECK(pause() <= 100ms);
}

TEST_CASE("fault 28: players that lose Muster at one moment do not come back at one moment") {
    constexpr int players = 1'000;
    std::vector<Duration> pauses;
    for (int i = 0; i < players; ++i) {
        PlayerFixture world;
        world.player.seed_jitter(static_cast<std::uint64_t>(i));
        world.logged_in();
        world.muster.lose();
        pauses.push_back(*world.player.next_tick() - world.muster.now());
    }
    const auto within = [&](Duration most) { return std::ranges::count_if(pauses, [&](auto p) { return p < most; }); };
    CHECK(within(10ms) > players / 20);
    CHECK(within(10ms) < players / 5);
    CHECK(within(50ms) > players * 2 / 5);
    CHECK(within(50ms) < players * 3 / 5);
}

TEST_CASE_FIXTURE(PlayerFixture, "P-6: login() during a pause does not wait for its end") {
    logged_in();
    for (int i = 0; i < 10; ++i) {
        muster.lose();
        if (!muster.wanted()) break;
    }
    REQUIRE_FALSE(muster.wanted());
    player.login("ann", "renewed");
    CHECK(muster.wanted());
    muster.connect();
    const PlayerLogin login = greet();
    CHECK(login.credential == "renewed");
    CHECK(login.resume_token == "resume-1");
}

}  // namespace muster::sdk
