#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "muster/player.h"
#include "sdk/src/player_fixture.h"

namespace muster::sdk {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

TEST_CASE_FIXTURE(PlayerFixture, "P-1: nothing is connected before login(), which then says name and credential") {
    CHECK_FALSE(muster.wanted());
    CHECK_FALSE(player.next_tick());
    CHECK(player.link_state() == LinkState::closed);
    player.login("ann", "v1.secret");
    CHECK(player.link_state() == LinkState::connecting);
    muster.connect();
    const auto login = muster.heard<PlayerLogin>();
    CHECK(login.player_name == "ann");
    CHECK(login.credential == "v1.secret");
    CHECK(login.resume_token.empty());
    CHECK(muster.silent());
    CHECK_FALSE(player.id());

    accept(7);
    CHECK(noted() == Lines{"login 7 fresh", "online"});
    CHECK(player.id() == AccountId{7});
    CHECK(player.link_state() == LinkState::online);
}

TEST_CASE("P-1: a refused login is told and not tried again until the next login()") {
    for (const Refusal refusal : {Refusal::invalid_credential, Refusal::credential_expired, Refusal::invalid_name}) {
        PlayerFixture world;
        CAPTURE(text(refusal));
        world.player.login("ann", "old");
        world.muster.connect();
        world.muster.heard<PlayerLogin>();
        world.refuse(text(refusal));
        CHECK(world.noted() ==
              Lines{"refused " + std::string(label(refusal)) + ": " + std::string(text(refusal)), "closed"});
        CHECK(world.muster.dropped());
        world.muster.lose();
        world.muster.advance(1h);
        CHECK_FALSE(world.muster.wanted());
        CHECK(world.noted().empty());

        world.player.login("ann", "new");
        world.muster.connect();
        CHECK(world.greet().credential == "new");
        CHECK(world.noted() == Lines{"login 7 fresh", "online"});
    }
}

TEST_CASE("X-3: a login that is refused for a reason that passes is tried again by itself") {
    for (const char* words : {"Server shutting down", "Store unavailable", "Words of a later version"}) {
        PlayerFixture world;
        world.player.login("ann", "secret");
        world.muster.connect();
        world.muster.heard<PlayerLogin>();
        world.refuse(words);
        CHECK(world.noted() == Lines{std::string("error ") + words});
        CHECK(world.muster.dropped());
        world.muster.reconnect();
        world.greet();
        CHECK(world.noted() == Lines{"login 7 fresh", "online"});
    }
}

TEST_CASE_FIXTURE(PlayerFixture, "P-1: what no message can carry is refused here, and the session stays as it is") {
    logged_in();
    player.login(std::string(33, 'a'), "secret");
    player.login("\xff", "secret");
    player.login("bob", std::string(1025, 'a'));
    player.login("bob", "\xc0\xaf");
    CHECK(noted().empty());  // no command calls back
    muster.advance(0s);
    CHECK(noted() == Lines{"refused invalid_name: Invalid name", "refused invalid_name: Invalid name",
                           "refused invalid_credential: Invalid credential",
                           "refused invalid_credential: Invalid credential"});
    CHECK(muster.silent());
    CHECK(player.link_state() == LinkState::online);

    PlayerFixture longest;
    longest.player.login(std::string(32, 'a'), std::string(1024, 'a'));
    longest.muster.connect();
    CHECK(longest.greet().credential.size() == 1024);
}

TEST_CASE_FIXTURE(PlayerFixture, "P-6: logout() tells Muster, closes the link and ends the session") {
    logged_in();
    player.logout();
    CHECK(noted().empty());  // no command calls back
    CHECK(muster.dropped());
    muster.heard<PlayerLogout>();
    CHECK_FALSE(player.id());
    muster.lose();
    muster.advance(1h);
    CHECK(noted() == Lines{"closed"});
    CHECK_FALSE(muster.wanted());
    CHECK_FALSE(player.next_tick());
    player.logout();
    muster.advance(1s);
    CHECK(noted().empty());

    player.login("ann", "secret");
    muster.connect();
    CHECK(greet().resume_token.empty());
    CHECK(noted() == Lines{"login 7 fresh", "online"});
}

TEST_CASE_FIXTURE(PlayerFixture, "P-6: a login that may have succeeded already is ended by logout(), too") {
    player.login("ann", "secret");
    muster.connect();
    player.logout();
    muster.heard<PlayerLogin>();
    muster.heard<PlayerLogout>();
    accept();
    CHECK_FALSE(player.id());
    muster.advance(0s);
    CHECK(noted() == Lines{"closed"});
}

TEST_CASE_FIXTURE(PlayerFixture,
                  "P-1: a credential given for the same name is for the next link, and the session goes on") {
    logged_in();
    player.login("ann", "renewed");
    muster.advance(1s);
    CHECK(muster.silent());
    CHECK(player.link_state() == LinkState::online);
    muster.reconnect();
    const PlayerLogin login = greet();
    CHECK(login.credential == "renewed");
    CHECK(login.resume_token == "resume-1");
}

TEST_CASE_FIXTURE(PlayerFixture, "P-7: a login under another name ends the session of the first") {
    logged_in();
    player.login("bob", "his");
    muster.heard<PlayerLogout>();
    CHECK(muster.dropped());
    CHECK_FALSE(player.id());
    muster.reconnect();
    const PlayerLogin login = greet(8);
    CHECK(login.player_name == "bob");
    CHECK(login.resume_token.empty());
    CHECK(noted() == Lines{"login 8 fresh", "online"});
}

TEST_CASE_FIXTURE(PlayerFixture,
                  "P-1: a new credential can be given from within the callback that tells of a refusal") {
    also = [this] { player.login("ann", "new"); };
    player.login("ann", "old");
    muster.connect();
    muster.heard<PlayerLogin>();
    refuse("Credential expired");
    CHECK(noted() == Lines{"refused credential_expired: Credential expired"});
    CHECK(player.link_state() == LinkState::connecting);
    muster.reconnect();
    CHECK(greet().credential == "new");
}

TEST_CASE_FIXTURE(PlayerFixture, "P-6: a player who logs out when told of the login is not online") {
    also = [this] { player.logout(); };
    player.login("ann", "secret");
    muster.connect();
    muster.heard<PlayerLogin>();
    accept();
    muster.heard<ClockSync>();
    muster.heard<PlayerLogout>();
    muster.advance(0s);
    CHECK(noted() == Lines{"login 7 fresh", "closed"});
    CHECK(player.link_state() == LinkState::closed);
}

}  // namespace muster::sdk
