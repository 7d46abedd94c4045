// The judges of players can fail: what a correct core never does is told to them by hand, and the right one objects.
#include <string>

#include <doctest/doctest.h>

#include "sim/clock_judge.h"
#include "sim/keepalive_judge.h"
#include "sim/limit_judge.h"
#include "sim/player_judge.h"

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

constexpr AccountId ann{1};

// Judges without a court: what they hear is written down here.
struct PlayerJudgesFixture {
    std::string rule() const { return objections.first() ? objections.first()->rule : ""; }

    void advance(Duration by) {
        scene.now += by;
        scene.running += by;
    }
    LinkNumber open() {
        const LinkNumber link = ++last_link;
        players.opened(scene, link, Port::players);
        keepalive.opened(scene, link, Port::players);
        return link;
    }
    void keep_account(const std::string& name, AccountId player) {
        players.durable(scene.now, {1, {AccountRecord{name, player}}});
    }
    // A login has come, and core is at it.
    LinkNumber asks(const std::string& name, const std::string& token = "") {
        const LinkNumber link = open();
        players.heard(scene, link, PlayerLogin{NameText(name), "", ResumeTokenText(token)});
        scene.cause = PlayerLogin::code;
        scene.cause_link = link;
        return link;
    }
    void begins(const std::string& name, AccountId player, std::uint64_t entity) {
        const event::PlayerLogin event{player, name, entity};
        players.happened(scene, event);
        keepalive.happened(scene, event);
    }
    void answer(LinkNumber link, AccountId player, const std::string& token) {
        players.said(scene, link, PlayerLoginResponse{PlayerLoginResponse::Accepted{player, ResumeTokenText(token)}});
        players.said(scene, link, TimeUpdate{1, 0, 0});
    }
    LinkNumber log_in() {
        keep_account("ann", ann);
        const LinkNumber link = asks("ann");
        begins("ann", ann, 100);
        answer(link, ann, "first");
        scene.cause = 0;
        return link;
    }
    void ends(const std::string& reason) {
        const event::PlayerClosed event{ann, "ann", reason, 1s};
        keepalive.happened(scene, event);
        players.happened(scene, event::EntityDeleted{100, ann, reason});
        players.happened(scene, event);
    }

    Scene scene{.now = Time(1h), .running = Time(1h), .cause = 0, .cause_link = 0, .cause_lobby = {}};
    Objections objections;
    Rules rules;
    PlayerJudge players{objections, rules};
    KeepaliveJudge keepalive{objections, rules, players};
    LimitJudge limits{objections, rules};
    LinkNumber last_link = 0;
};

}  // namespace

TEST_CASE_FIXTURE(PlayerJudgesFixture, "a session by the rules is not objected to") {
    const LinkNumber link = log_in();
    advance(rules.ping_timeout);
    ends("Ping timeout");
    players.said(scene, link, ServerClose{"Ping timeout"});
    players.close_asked(scene, link);
    CHECK(rule() == "");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture, "P-7: a name with two sessions is objected to") {
    log_in();
    asks("ann");
    begins("ann", ann, 101);
    CHECK(rule() == "P-7");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture, "P-7: an account with two sessions is objected to") {
    log_in();
    asks("bob");
    begins("bob", ann, 101);
    CHECK(rule() == "P-7");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture, "P-7: a new session with an old entity is objected to") {
    log_in();
    ends("Logged out");
    asks("bob");
    begins("bob", AccountId(2), 100);
    CHECK(rule() == "P-7");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture, "P-1: a session that nobody logged in for is objected to") {
    begins("ann", ann, 100);
    CHECK(rule() == "P-1");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture, "P-1: a name whose id changes is objected to") {
    log_in();
    ends("Logged out");
    keep_account("ann", AccountId(2));
    const LinkNumber link = asks("ann");
    begins("ann", AccountId(2), 101);
    answer(link, AccountId(2), "second");
    CHECK(rule() == "P-1");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture, "P-6: a resume without the newest token is objected to") {
    log_in();
    asks("ann", "another");
    players.happened(scene, event::PlayerResumed{ann, "ann"});
    CHECK(rule() == "P-6");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture, "P-6: the newest token that gives a fresh session is objected to") {
    log_in();
    asks("ann", "first");
    begins("ann", ann, 101);
    CHECK(rule() == "P-6");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture, "P-6: a session that ends before its grace is over is objected to") {
    players.closed(scene, log_in());
    advance(rules.resume_grace - 1ms);
    ends("Connection lost");
    CHECK(rule() == "P-6");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture, "P-5: a kick by nobody, and a shutdown that is none, are objected to") {
    log_in();
    SUBCASE("a kick") {
        ends("Kicked");
    }
    SUBCASE("a shutdown") {
        ends("Server shutting down");
    }
    CHECK(rule() == "P-5");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture, "P-5: what is said after the last word is objected to") {
    const LinkNumber link = log_in();
    advance(rules.ping_timeout);
    ends("Ping timeout");
    players.said(scene, link, ServerClose{"Ping timeout"});
    players.said(scene, link, Ping{});
    CHECK(rule() == "P-5");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture,
                  "H-4: an entity that is deleted twice, or outlives its session, is objected to") {
    log_in();
    SUBCASE("twice") {
        players.happened(scene, event::EntityDeleted{100, ann, "Heartbeat failed"});
        players.happened(scene, event::EntityDeleted{100, ann, "Heartbeat failed"});
    }
    SUBCASE("not at all") {
        players.happened(scene, event::PlayerClosed{ann, "ann", "Logged out", 1s});
    }
    CHECK(rule() == "H-4");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture, "invariant 17: a ping timeout a moment early is objected to") {
    const LinkNumber link = log_in();
    advance(20s);
    keepalive.heard(scene, link, PingEcho{});
    advance(rules.ping_timeout - 1ns);
    ends("Ping timeout");
    CHECK(rule() == "invariant 17");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture, "invariant 17: an idle kick a moment early is objected to") {
    const LinkNumber link = log_in();
    advance(20s);
    keepalive.heard(scene, link, PlayerActivity{});
    advance(rules.idle_kick_after - 1ns);
    ends("Idle too long");
    CHECK(rule() == "invariant 17");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture, "P-4: an echo, a heartbeat's answer and a clock question are no activity") {
    const LinkNumber link = log_in();
    advance(20s);
    keepalive.heard(scene, link, PingEcho{});
    keepalive.heard(scene, link, EntityHeartbeatAnswer{1, 1});
    advance(rules.idle_after - 20s);
    keepalive.happened(scene, event::PlayerIdle{ann});
    CHECK(rule() == "");
    keepalive.happened(scene, event::PlayerActive{ann});
    CHECK(rule() == "P-4");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture, "H-4: an entity that is given up after too few failures is objected to") {
    const LinkNumber link = log_in();
    for (std::uint32_t request = 1; request <= 3; ++request) {
        keepalive.said(scene, link, EntityHeartbeat{request});
        advance(rules.heartbeat_interval);
    }
    ends("Heartbeat failed");  // the third interval ends with the fourth request
    CHECK(rule() == "H-4");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture,
                  "invariant 15, H-2: an interval of heartbeats that is cut short is objected to") {
    const LinkNumber link = log_in();
    keepalive.said(scene, link, EntityHeartbeat{1});
    advance(rules.heartbeat_interval - 1ns);
    keepalive.said(scene, link, EntityHeartbeat{2});
    CHECK(rule() == "invariant 15");
}

TEST_CASE_FIXTURE(PlayerJudgesFixture, "invariant 18: more events that wait than may are objected to") {
    limits.events_wait(scene.now, Events::waiting_max);
    CHECK(rule() == "");
    limits.events_wait(scene.now, Events::waiting_max + 1);
    CHECK(rule() == "invariant 18");
}

TEST_CASE("invariant 16: a whole time that is not the world's is objected to, and one that is is not") {
    Objections objections;
    Rules rules;
    rules.clock_speed = 60;
    rules.clock_start = {7, 23, 59};
    ClockJudge clock{objections, rules};
    Scene scene{.now = Time(1h), .running = Time(1h), .cause = 0, .cause_link = 0, .cause_lobby = {}};
    clock.clock_set(scene, {GameTime{7, 23, 59}, 60});
    clock.opened(scene, 1, Port::players);
    clock.said(scene, 1, TimeUpdate{7, 23, 59});
    scene.now += 1s;
    clock.said(scene, 1, TimeUpdate{1, 0, 0});
    CHECK_FALSE(objections.first().has_value());
    clock.said(scene, 1, TimeUpdate{7, 0, 0});
    REQUIRE(objections.first().has_value());
    CHECK(objections.first()->rule == "invariant 16");
}
