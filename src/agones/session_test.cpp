#include "agones/session.h"

#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace muster;
using namespace muster::agones;
using namespace std::chrono_literals;
using Kind = SdkFact::Kind;

namespace {

constexpr Time start{std::chrono::hours(1)};
constexpr UnixMs wall{1'700'000'000'000};

Process arena() {
    Process process;
    process.name = "host-arena-1";
    process.fleet = "arena";
    process.address = "203.0.113.7";
    process.port = 7001;
    process.labels = {{"team", "blue"}};
    return process;
}

SdkMatch match_of(std::int32_t lobby) {
    return {LobbyId{lobby}, 3, 4, "secret-token"};
}

struct SessionFixture {
    Session session{arena(), {start, wall, "uid-1"}};
    Time now = start;

    template <class CallType>
    Reply call(CallType what) {
        return session.call(now, Call{std::move(what)});
    }
    void pass(Duration time) {
        now += time;
        session.tick(now);
    }
    State state() const { return session.present()->state; }
    std::vector<Kind> facts() {
        std::vector<Kind> kinds;
        for (const SdkFact& each : session.take_facts()) kinds.push_back(each.kind);
        return kinds;
    }
    std::vector<State> changes() {
        std::vector<State> states;
        for (const auto& each : session.take_changes()) states.push_back(each->state);
        return states;
    }
    std::string annotation(const std::string& key) const {
        const auto& all = session.present()->annotations;
        const auto found = all.find(key);
        return found == all.end() ? "" : found->second;
    }
};

}  // namespace

TEST_CASE_FIXTURE(SessionFixture, "G-21: a new life has its host's name, its run's label and an address, and waits") {
    const auto server = session.present();
    CHECK(server->name == "host-arena-1");
    CHECK(server->namespace_name == "default");
    CHECK(server->uid == "uid-1");
    CHECK(server->labels == TextMap{{"agones.dev/fleet", "arena"}, {"team", "blue"}});
    CHECK(server->state == State::scheduled);
    CHECK(server->created_at == 1'700'000'000);
    CHECK(server->port == 7001);
    CHECK(server->players == std::nullopt);
    CHECK(facts().empty());
}

TEST_CASE_FIXTURE(SessionFixture, "G-21: Ready passes RequestReady and makes it available") {
    REQUIRE(call(Ready{}));
    CHECK(changes() == std::vector{State::request_ready, State::ready});
    CHECK(facts() == std::vector{Kind::ready});
    REQUIRE(call(Ready{}));
    CHECK(changes().empty());
    CHECK(facts().empty());
}

TEST_CASE_FIXTURE(SessionFixture, "G-21: an offer is accepted at once, and the match stands in the annotations") {
    REQUIRE(call(Ready{}));
    facts();
    changes();
    now += 90s;
    session.offer(now, match_of(12));
    CHECK(changes() == std::vector{State::allocated});
    const auto told = session.take_facts();
    REQUIRE(told.size() == 2);
    CHECK(told[0] == SdkFact{Kind::accepted, LobbyId{12}, ""});
    CHECK(told[1] == SdkFact{Kind::match_ready, LobbyId{12}, ""});
    CHECK(annotation("agones.dev/last-allocated") == "2023-11-14T22:14:50Z");
    CHECK(annotation("muster.dev/lobby") == "12");
    CHECK(annotation("muster.dev/token") == "secret-token");
    CHECK(annotation("muster.dev/game-type") == "3");
    CHECK(annotation("muster.dev/game-mode") == "4");
}

TEST_CASE_FIXTURE(SessionFixture, "G-21: Ready again ends the match and forgets its token") {
    REQUIRE(call(Ready{}));
    session.offer(now, match_of(12));
    facts();
    REQUIRE(call(Ready{}));
    const auto told = session.take_facts();
    REQUIRE(told.size() == 2);
    CHECK(told[0] == SdkFact{Kind::match_ended, LobbyId{12}, ""});
    CHECK(told[1] == SdkFact{Kind::ready, LobbyId{}, ""});
    CHECK(annotation("muster.dev/token").empty());
    CHECK(!annotation("agones.dev/last-allocated").empty());
}

TEST_CASE_FIXTURE(SessionFixture, "G-21: an offer to a process that is not Ready changes nothing") {
    session.offer(now, match_of(1));
    CHECK(state() == State::scheduled);
    REQUIRE(call(Ready{}));
    REQUIRE(call(Reserve{0}));
    facts();
    session.offer(now, match_of(1));
    CHECK(state() == State::reserved);
    CHECK(facts().empty());
}

TEST_CASE_FIXTURE(SessionFixture, "G-21: Allocate by the process itself is told once, and is over with Ready") {
    REQUIRE(call(Ready{}));
    facts();
    REQUIRE(call(Allocate{}));
    CHECK(facts() == std::vector{Kind::allocated_itself});
    CHECK(!annotation("agones.dev/last-allocated").empty());
    REQUIRE(call(Allocate{}));
    CHECK(facts().empty());
    REQUIRE(call(Ready{}));
    CHECK(facts() == std::vector{Kind::ready});
}

TEST_CASE_FIXTURE(SessionFixture, "G-21: Allocate within a match of Muster's is no match of its own") {
    REQUIRE(call(Ready{}));
    session.offer(now, match_of(5));
    facts();
    REQUIRE(call(Allocate{}));
    CHECK(facts().empty());
    CHECK(annotation("muster.dev/lobby") == "5");
}

TEST_CASE_FIXTURE(SessionFixture, "G-20: Reserve holds for its seconds, then it is Ready again") {
    REQUIRE(call(Ready{}));
    facts();
    REQUIRE(call(HealthPing{}));
    REQUIRE(call(Reserve{4}));
    CHECK(facts() == std::vector{Kind::reserved});
    pass(3999ms);
    CHECK(state() == State::reserved);
    pass(1ms);
    CHECK(state() == State::ready);
    CHECK(facts() == std::vector{Kind::ready});
}

TEST_CASE_FIXTURE(SessionFixture,
                  "G-20: Reserve for 0 s holds until the process speaks, as does one beyond all years") {
    REQUIRE(call(Ready{}));
    for (const std::int64_t seconds : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{9'223'372'036'854'775'807}}) {
        REQUIRE(call(Reserve{seconds}));
        for (int i = 0; i < 1000; ++i) {
            REQUIRE(call(HealthPing{}));
            pass(4s);
        }
        CHECK(state() == State::reserved);
    }
    REQUIRE(call(Ready{}));
    CHECK(state() == State::ready);
}

TEST_CASE_FIXTURE(SessionFixture,
                  "G-20: each period without a ping counts, and the third makes it Unhealthy for good") {
    REQUIRE(call(Ready{}));
    facts();
    pass(10s);  // the delay and one period
    pass(4999ms);
    REQUIRE(call(HealthPing{}));
    for (int i = 0; i < 14; ++i) pass(1s);
    pass(999ms);
    CHECK(state() == State::ready);
    pass(1ms);
    CHECK(state() == State::unhealthy);
    const auto told = session.take_facts();
    REQUIRE(told.size() == 1);
    CHECK(told[0].kind == Kind::unhealthy);
    CHECK(told[0].reason == "no health ping in 3 periods of 5 s");
    REQUIRE(call(HealthPing{}));
    REQUIRE(call(Ready{}));
    REQUIRE(call(Allocate{}));
    REQUIRE(call(Shutdown{}));
    CHECK(state() == State::unhealthy);
    CHECK(facts().empty());
    CHECK(session.next_tick() == std::nullopt);
}

TEST_CASE_FIXTURE(SessionFixture, "G-20: a process that never pings is Unhealthy after its delay and three periods") {
    for (int i = 0; i < 19'999; ++i) pass(1ms);
    CHECK(state() == State::scheduled);
    pass(1ms);
    CHECK(state() == State::unhealthy);
}

TEST_CASE_FIXTURE(SessionFixture,
                  "G-20: an agent that was stopped for an hour blames its processes for one period only") {
    REQUIRE(call(Ready{}));
    pass(1h);
    CHECK(state() == State::ready);
    REQUIRE(call(HealthPing{}));
    pass(5s);
    pass(5s);
    CHECK(state() == State::ready);
    pass(5s);
    CHECK(state() == State::unhealthy);
}

TEST_CASE("G-20: without a period no pings are expected") {
    Process process = arena();
    process.health_period = Duration{0};
    Session session(process, {start, wall, "uid"});
    session.tick(start + 24h);
    CHECK(session.present()->state == State::scheduled);
    CHECK(session.present()->health.disabled);
    CHECK(session.next_tick() == std::nullopt);
}

TEST_CASE_FIXTURE(SessionFixture, "G-21: Shutdown is told once and never left") {
    REQUIRE(call(Ready{}));
    facts();
    now += 5s;
    REQUIRE(call(Shutdown{}));
    CHECK(facts() == std::vector{Kind::shutdown});
    CHECK(session.present()->deleted_at == 1'700'000'005);
    REQUIRE(call(Ready{}));
    REQUIRE(call(Reserve{1}));
    pass(1h);
    CHECK(state() == State::shutdown);
    CHECK(facts().empty());
}

TEST_CASE_FIXTURE(SessionFixture, "G-21: after an abort it has its grace to say Ready") {
    REQUIRE(call(Ready{}));
    session.offer(now, match_of(7));
    facts();
    session.abort(now, LobbyId{8}, "another");
    CHECK(annotation("muster.dev/aborted").empty());
    session.abort(now, LobbyId{7}, "Store unavailable");
    CHECK(annotation("muster.dev/aborted") == "Store unavailable");
    CHECK(annotation("muster.dev/token").empty());
    SUBCASE("Ready makes it available, with no match to end") {
        REQUIRE(call(Ready{}));
        CHECK(facts() == std::vector{Kind::ready});
        CHECK(annotation("muster.dev/aborted").empty());
    }
    SUBCASE("silence ends it") {
        for (int i = 0; i < 29; ++i) {
            REQUIRE(call(HealthPing{}));
            pass(1s);
        }
        CHECK(state() == State::allocated);
        pass(1s);
        CHECK(state() == State::shutdown);
        CHECK(facts() == std::vector{Kind::shutdown});
    }
}

TEST_CASE_FIXTURE(SessionFixture, "G-6: Muster's stop shows as Shutdown, and is no wish of the process") {
    REQUIRE(call(Ready{}));
    facts();
    session.stop(now);
    CHECK(state() == State::shutdown);
    CHECK(facts().empty());
}

TEST_CASE_FIXTURE(SessionFixture, "G-20: labels and annotations get Agones' prefix and have limits") {
    REQUIRE(call(SetLabel{"mode", "ctf"}));
    REQUIRE(call(SetAnnotation{"map", "dust"}));
    CHECK(session.present()->labels.at("agones.dev/sdk-mode") == "ctf");
    CHECK(annotation("agones.dev/sdk-map") == "dust");
    const auto version = session.present()->version;
    CHECK(call(SetLabel{"", "x"}).error().code == Code::invalid_argument);
    CHECK(call(SetLabel{std::string(257, 'k'), "x"}).error().code == Code::invalid_argument);
    CHECK(call(SetLabel{"k", std::string(4097, 'v')}).error().code == Code::invalid_argument);
    CHECK(call(SetLabel{"k", "\xff"}).error().code == Code::invalid_argument);
    REQUIRE(call(SetLabel{"mode", "ctf"}));  // as it was
    CHECK(session.present()->version == version);
    int set = 0;
    while (call(SetLabel{"k" + std::to_string(set), std::string(4096, 'v')})) ++set;
    CHECK(set == 15);
    CHECK(call(SetLabel{"one", std::string(4096, 'v')}).error().code == Code::resource_exhausted);
}

TEST_CASE_FIXTURE(SessionFixture, "G-20: without player tracking every player call is code 2") {
    for (const Reply& reply :
         {call(PlayerConnect{"p"}), call(PlayerDisconnect{"p"}), call(IsPlayerConnected{"p"}),
          call(GetConnectedPlayers{}), call(GetPlayerCount{}), call(GetPlayerCapacity{}), call(SetPlayerCapacity{4})})
        CHECK(reply.error() == Refused{Code::unknown, "PlayerTracking not enabled"});
}

TEST_CASE("G-20: players come and go within their capacity") {
    Process process = arena();
    process.player_tracking = true;
    Session session(process, {start, wall, "uid"});
    const auto call = [&](Call what) { return session.call(start, what); };
    CHECK(call(PlayerConnect{"ann"}).error().message == "players are already at capacity");
    REQUIRE(call(SetPlayerCapacity{2}));
    CHECK(std::get<Flag>(*call(PlayerConnect{"ann"})).value);
    CHECK(!std::get<Flag>(*call(PlayerConnect{"ann"})).value);
    CHECK(std::get<Flag>(*call(PlayerConnect{"bob"})).value);
    CHECK(call(PlayerConnect{"cat"}).error().code == Code::unknown);
    CHECK(std::get<Count>(*call(GetPlayerCount{})).value == 2);
    CHECK(std::get<Count>(*call(GetPlayerCapacity{})).value == 2);
    CHECK(std::get<PlayerIds>(*call(GetConnectedPlayers{})).values == std::vector<std::string>{"ann", "bob"});
    CHECK(std::get<Flag>(*call(IsPlayerConnected{"bob"})).value);
    CHECK(std::get<Flag>(*call(PlayerDisconnect{"bob"})).value);
    CHECK(!std::get<Flag>(*call(PlayerDisconnect{"bob"})).value);
    CHECK(!std::get<Flag>(*call(IsPlayerConnected{"bob"})).value);
    CHECK(session.present()->players->ids == std::vector<std::string>{"ann"});
    CHECK(call(SetPlayerCapacity{-1}).error().code == Code::invalid_argument);
}

TEST_CASE_FIXTURE(SessionFixture, "G-20: a process that changes its mind ten thousand times fills no memory") {
    for (int i = 0; i < 10'000; ++i) {
        REQUIRE(call(Ready{}));
        REQUIRE(call(Reserve{0}));
        REQUIRE(call(Allocate{}));
    }
    CHECK(session.take_facts().size() == 1);
    CHECK(session.take_changes().size() == 64);
    CHECK(state() == State::allocated);
}

TEST_CASE_FIXTURE(SessionFixture, "G-7: a saved session goes on where it was, match included") {
    REQUIRE(call(SetLabel{"mode", "c\"t\nf"}));
    REQUIRE(call(HealthPing{}));
    REQUIRE(call(Ready{}));
    session.offer(now, match_of(21));
    const std::string text = session.saved();
    CHECK(text.find('\n') == std::string::npos);
    auto next = Session::restored(arena(), now + 1h, UnixMs{wall.value + 3'600'000}, text);
    REQUIRE(next);
    CHECK(*next->present() == *session.present());
    CHECK(next->take_facts().empty());
    REQUIRE(next->call(now + 1h, Call{Ready{}}));
    const auto told = next->take_facts();
    REQUIRE(told.size() == 2);
    CHECK(told[0] == SdkFact{Kind::match_ended, LobbyId{21}, ""});
    next->tick(now + 1h + 15s);
    CHECK(next->present()->state == State::ready);  // pings count from the adoption on
}

TEST_CASE_FIXTURE(SessionFixture, "G-7: a reservation ends at its time though the agent was replaced") {
    REQUIRE(call(Ready{}));
    REQUIRE(call(Reserve{60}));
    auto next = Session::restored(arena(), start, UnixMs{wall.value + 20'000}, session.saved());
    REQUIRE(next);
    for (int i = 0; i < 39; ++i) {
        REQUIRE(next->call(start + i * 1s, Call{HealthPing{}}));
        next->tick(start + i * 1s);
    }
    CHECK(next->present()->state == State::reserved);
    next->tick(start + 40s);
    CHECK(next->present()->state == State::ready);
}

TEST_CASE_FIXTURE(SessionFixture, "G-7: pings whose stream ended with the agent are not missed until they come again") {
    REQUIRE(call(Ready{}));
    const auto adopted = [&] { session = *Session::restored(arena(), now, wall, session.saved()); };
    SUBCASE("it opens no other stream: it is out of reach, then to be replaced, and never unhealthy") {
        REQUIRE(call(HealthPing{.by_stream = true}));
        facts();
        adopted();
        CHECK(facts() == std::vector{Kind::out_of_reach});
        pass(19'999ms);
        CHECK(facts().empty());
        CHECK(session.next_tick() == now + 1ms);
        pass(1ms);
        CHECK(facts() == std::vector{Kind::to_be_replaced});
        pass(1h);
        CHECK(facts().empty());
        CHECK(state() == State::ready);
        adopted();  // so too for the agent after the next
        CHECK(facts() == std::vector{Kind::out_of_reach});
    }
    SUBCASE("its first ping was not written down, or has not come yet") {
        facts();
        adopted();
        CHECK(facts() == std::vector{Kind::out_of_reach});
        pass(1h);
        CHECK(facts() == std::vector{Kind::to_be_replaced});
    }
    SUBCASE("it pings again: from then on they count") {
        REQUIRE(call(HealthPing{.by_stream = true}));
        facts();
        adopted();
        facts();
        pass(10s);
        REQUIRE(call(HealthPing{.by_stream = true}));
        CHECK(facts() == std::vector{Kind::in_reach});
        for (int i = 0; i < 2; ++i) pass(5s);
        CHECK(facts().empty());
        pass(5s);
        CHECK(facts() == std::vector{Kind::unhealthy});
    }
    SUBCASE("it pings by single requests: they count at once") {
        REQUIRE(call(HealthPing{.by_stream = true}));
        REQUIRE(call(HealthPing{}));
        facts();
        adopted();
        for (int i = 0; i < 3; ++i) pass(5s);
        CHECK(facts().empty());
        pass(5s);
        CHECK(facts() == std::vector{Kind::unhealthy});
    }
    SUBCASE("an earlier agent did not write down how it pings") {
        REQUIRE(call(HealthPing{}));
        facts();
        std::string text = session.saved();
        const std::string key = R"("pings_singly":true)";
        REQUIRE(text.find(key) != std::string::npos);
        text.replace(text.find(key), key.size(), R"("of_another_time":true)");
        session = *Session::restored(arena(), now, wall, text);
        CHECK(facts() == std::vector{Kind::out_of_reach});
    }
}

TEST_CASE_FIXTURE(SessionFixture, "G-7: a watch that ended with the agent is waited for before it is offered a match") {
    REQUIRE(call(Ready{}));
    facts();
    session.lose_watch(now);
    CHECK(facts() == std::vector{Kind::out_of_reach});
    REQUIRE(call(HealthPing{}));
    CHECK(facts().empty());
    SUBCASE("it watches again") {
        session.watched();
        CHECK(facts() == std::vector{Kind::in_reach});
        session.watched();
        CHECK(facts().empty());
    }
    SUBCASE("it does not, though it lives") {
        for (int i = 0; i < 20; ++i) {
            CHECK(facts().empty());
            pass(1s);
            REQUIRE(call(HealthPing{}));
        }
        CHECK(facts() == std::vector{Kind::to_be_replaced});
    }
}

TEST_CASE("G-7: what was not saved whole is not restored") {
    Session session(arena(), {start, wall, "uid"});
    const std::string text = session.saved();
    for (std::size_t size = 0; size < text.size(); ++size)
        CHECK(!Session::restored(arena(), start, wall, text.substr(0, size)));
    CHECK(!Session::restored(arena(), start, wall, R"({"uid":1})"));
}
