#include "gsdk/session.h"

#include <chrono>
#include <vector>

#include <doctest/doctest.h>

using namespace muster;
using namespace muster::gsdk;
using namespace std::chrono_literals;
using Kind = SdkFact::Kind;

namespace {

constexpr Time start{std::chrono::hours(1)};

struct GsdkFixture {
    Session session{Process{}, start};
    Time now = start;

    HeartbeatAnswer beat(GameState state, bool healthy = true) { return session.heartbeat(now, {state, healthy, 0}); }
    void pass(Duration time) {
        now += time;
        session.tick(now);
    }
    std::vector<Kind> facts() {
        std::vector<Kind> kinds;
        for (const SdkFact& each : session.take_facts()) kinds.push_back(each.kind);
        return kinds;
    }
};

const SdkMatch match{LobbyId{9}, 1, 2, "cookie"};

}  // namespace

TEST_CASE_FIXTURE(GsdkFixture, "G-31: StandingBy makes it available, once") {
    CHECK(beat(GameState::initializing).operation == Operation::carry_on);
    CHECK(facts().empty());
    CHECK(beat(GameState::standing_by).operation == Operation::carry_on);
    CHECK(facts() == std::vector{Kind::ready});
    CHECK(beat(GameState::standing_by).operation == Operation::carry_on);
    CHECK(facts().empty());
}

TEST_CASE_FIXTURE(GsdkFixture,
                  "G-31: an offer is Active in the next answer, which acknowledges it, until it says Active") {
    beat(GameState::standing_by);
    facts();
    session.offer(match, "guid");
    CHECK(facts().empty());
    const auto answer = beat(GameState::standing_by);
    REQUIRE(answer.operation == Operation::active);
    CHECK(answer.config->session_id == "guid");
    CHECK(answer.config->session_cookie == "cookie");
    CHECK(facts() == std::vector{Kind::accepted});
    CHECK(beat(GameState::standing_by).operation == Operation::active);  // the answer may have been lost
    CHECK(facts().empty());
    CHECK(beat(GameState::active).operation == Operation::carry_on);
    CHECK(facts() == std::vector{Kind::match_ready});
    CHECK(beat(GameState::active).config == nullptr);
}

TEST_CASE_FIXTURE(GsdkFixture, "G-31: Terminated ends it, and it is told nothing but Terminate from then on") {
    beat(GameState::standing_by);
    facts();
    CHECK(beat(GameState::terminated).operation == Operation::terminate);
    CHECK(facts() == std::vector{Kind::shutdown});
    CHECK(beat(GameState::standing_by).operation == Operation::terminate);
    CHECK(facts().empty());
}

TEST_CASE_FIXTURE(GsdkFixture, "G-31: StandingBy after Active ends the match") {
    beat(GameState::standing_by);
    session.offer(match, "guid");
    beat(GameState::standing_by);
    beat(GameState::active);
    facts();
    beat(GameState::standing_by);
    CHECK(facts() == std::vector{Kind::match_ended, Kind::ready});
}

TEST_CASE_FIXTURE(GsdkFixture, "G-31: Active without an offer is a match of its own") {
    beat(GameState::active);
    CHECK(facts() == std::vector{Kind::allocated_itself});
}

TEST_CASE_FIXTURE(GsdkFixture, "G-31: an abort terminates it when it has heard of the match") {
    beat(GameState::standing_by);
    session.offer(match, "guid");
    facts();
    SUBCASE("it has not, and stands by as before") {
        session.abort(now, match.lobby);
        CHECK(facts() == std::vector{Kind::ready});
        CHECK(beat(GameState::standing_by).operation == Operation::carry_on);
        CHECK(facts().empty());
        session.offer({LobbyId{10}, 1, 2, "another"}, "guid");
        CHECK(beat(GameState::standing_by).operation == Operation::active);
        CHECK(facts() == std::vector{Kind::accepted});
    }
    SUBCASE("it has not, and ends just now") {
        session.stop(now);
        session.abort(now, match.lobby);
        CHECK(facts().empty());
    }
    SUBCASE("it has, and ends itself") {
        beat(GameState::standing_by);
        facts();
        session.abort(now, match.lobby);
        CHECK(beat(GameState::active).operation == Operation::terminate);
        CHECK(facts().empty());
        beat(GameState::terminating);
        CHECK(facts() == std::vector{Kind::shutdown});
    }
    SUBCASE("it has, and does not end itself") {
        beat(GameState::standing_by);
        session.abort(now, match.lobby);
        facts();
        for (int i = 0; i < 29; ++i) {
            pass(1s);
            CHECK(beat(GameState::active).operation == Operation::terminate);
        }
        CHECK(facts().empty());
        pass(1s);
        CHECK(facts() == std::vector{Kind::shutdown});
    }
}

TEST_CASE_FIXTURE(GsdkFixture, "G-31: a stop is Terminate in the next answer") {
    beat(GameState::standing_by);
    session.stop(now);
    CHECK(beat(GameState::standing_by).operation == Operation::terminate);
}

TEST_CASE_FIXTURE(GsdkFixture, "G-31: no heartbeat for 60 s at first and 15 s later is unhealthy") {
    SUBCASE("the first") {
        pass(59'999ms);
        CHECK(facts().empty());
        pass(1ms);
        CHECK(facts() == std::vector{Kind::unhealthy});
    }
    SUBCASE("a later one") {
        beat(GameState::standing_by);
        facts();
        pass(14'999ms);
        CHECK(facts().empty());
        beat(GameState::standing_by);
        pass(15s);
        CHECK(facts() == std::vector{Kind::unhealthy});
        CHECK(session.next_tick() == std::nullopt);
    }
    SUBCASE("an agent that was stopped blames nobody") {
        beat(GameState::standing_by);
        facts();
        pass(1h);
        CHECK(facts().empty());
        pass(15s);
        CHECK(facts() == std::vector{Kind::unhealthy});
    }
}

TEST_CASE_FIXTURE(GsdkFixture, "G-31: who says Unhealthy is ended") {
    beat(GameState::standing_by, false);
    CHECK(facts() == std::vector{Kind::unhealthy});
}

TEST_CASE("G-31: with ignore_health what it says of its health does not count") {
    Session session(Process{.ignore_health = true}, start);
    session.heartbeat(start, {GameState::standing_by, false, 0});
    const auto facts = session.take_facts();
    REQUIRE(facts.size() == 1);
    CHECK(facts[0].kind == Kind::ready);
}

TEST_CASE_FIXTURE(GsdkFixture, "G-7: a saved GSDK session goes on where it was") {
    beat(GameState::standing_by);
    session.offer(match, "guid");
    beat(GameState::standing_by);
    auto before = Session::restored(Process{}, now, session.saved());
    REQUIRE(before);
    CHECK(before->heartbeat(now, {GameState::standing_by, true, 0}).operation == Operation::active);
    CHECK(before->take_facts().empty());
    beat(GameState::active);
    auto within = Session::restored(Process{}, now, session.saved());
    REQUIRE(within);
    CHECK(within->heartbeat(now, {GameState::active, true, 0}).operation == Operation::carry_on);
    CHECK(within->take_facts().empty());
    CHECK(!Session::restored(Process{}, now, "{}"));
    CHECK(!Session::restored(Process{}, now, ""));
}

TEST_CASE_FIXTURE(GsdkFixture, "G-7: an offer that an earlier agent had not handed over is off") {
    beat(GameState::standing_by);
    session.offer(match, "guid");
    auto after = Session::restored(Process{}, now, session.saved());
    REQUIRE(after);
    SUBCASE("it stands by, and takes the next one") {
        CHECK(after->heartbeat(now, {GameState::standing_by, true, 0}).operation == Operation::carry_on);
        after->offer({LobbyId{10}, 1, 2, "another"}, "guid");
        CHECK(after->heartbeat(now, {GameState::standing_by, true, 0}).operation == Operation::active);
        after->heartbeat(now, {GameState::active, true, 0});
        CHECK(after->take_facts().size() == 2);
    }
    SUBCASE("it was told of it in the last moment: it is terminated") {
        CHECK(after->heartbeat(now, {GameState::active, true, 0}).operation == Operation::terminate);
        CHECK(after->take_facts().empty());
    }
}

TEST_CASE_FIXTURE(GsdkFixture, "G-31: the accounts of 2008 are told with the match that they are for, and no other") {
    beat(GameState::standing_by);
    session.offer(match, "guid");
    session.set_players(LobbyId(match.lobby.value + 1), {AccountId(1)});
    session.set_players(match.lobby, {AccountId(7), AccountId(8)});
    const HeartbeatAnswer answer = beat(GameState::standing_by);
    REQUIRE(answer.config);
    CHECK(answer.config->initial_players == std::vector{AccountId(7), AccountId(8)});
}
