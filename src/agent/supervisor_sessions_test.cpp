// What the SDK says of a process and its match, and processes that a host finds alive.
#include <chrono>

#include "agent/supervisor_fixture.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using Kind = SdkFact::Kind;
using Tell = TellMatch::What;

TEST_CASE_FIXTURE(SupervisorFixture, "G-10: a process that cannot be told of its match declines it and goes on") {
    configure({arena()});
    bind_port();
    offer(7);
    supervisor.not_told(id(), LobbyId(7));
    work();
    CHECK(told() == std::vector{Tell::decline});
    CHECK(state() == ProcessState::ready);
    CHECK(count_of<StopProcess>() == 0);
    offer(8);
    CHECK(count_of<OfferMatch>() == 2);
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-21: ready again ends the match and frees the process") {
    configure({agones()});
    say({Kind::ready});
    play(7);
    CHECK(state() == ProcessState::allocated);
    say({Kind::ready});
    CHECK(state() == ProcessState::ready);
    CHECK(told() == std::vector{Tell::accept, Tell::ready, Tell::ended});
    play(8);
    CHECK(told().back() == Tell::ready);
    CHECK(news(ProcessNews::Kind::ready) == 1);
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-21: what allocates itself or is reserved takes no offer until it is ready") {
    configure({agones()});
    say({Kind::ready});
    SUBCASE("allocated") {
        say({Kind::allocated_itself});
    }
    SUBCASE("reserved") {
        say({Kind::reserved});
    }
    offer(7);
    CHECK(told() == std::vector{Tell::decline});
    CHECK(orders_of<DrainAtMuster>().back().draining);
    say({Kind::ready});
    CHECK_FALSE(orders_of<DrainAtMuster>().back().draining);
    offer(8);
    CHECK(count_of<OfferMatch>() == 1);
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-7: what is out of reach takes no offer, and is replaced once it is free") {
    configure({agones()});
    say({Kind::ready});
    SUBCASE("free: no offer, and back in reach it takes the next") {
        say({Kind::out_of_reach});
        CHECK(orders_of<DrainAtMuster>().back().draining);
        offer(7);
        CHECK(told() == std::vector{Tell::decline});
        say({Kind::in_reach});
        CHECK_FALSE(orders_of<DrainAtMuster>().back().draining);
        offer(8);
        CHECK(count_of<OfferMatch>() == 1);
    }
    SUBCASE("free, and it stays so: another life") {
        say({Kind::out_of_reach});
        say({Kind::to_be_replaced, {}, "no streams"});
        CHECK(state() == ProcessState::stopping);
        CHECK_FALSE(orders_of<LeaveMuster>().at(0).crashed);
        exit(clean_exit);
        CHECK_FALSE(process().last_exit->failed);
        CHECK(process().last_exit->reason == "no streams; exit code 0");
        run_for(1s);
        say({Kind::ready});
        offer(8);
        CHECK(count_of<OfferMatch>() == 1);
    }
    SUBCASE("with a match: it goes on to its end, however long that is") {
        play(7);
        say({Kind::out_of_reach});
        say({Kind::to_be_replaced});
        run_for(48h);
        CHECK(state() == ProcessState::allocated);
        CHECK(count_of<StopProcess>() == 0);
        say({Kind::match_ended, LobbyId(7)});
        CHECK(count_of<StopProcess>() == 0);  // it may be reserved now
        say({Kind::ready});
        CHECK(told().back() == Tell::ended);
        CHECK(count_of<StopProcess>() == 1);
    }
    SUBCASE("with a match, and in reach again: it stays") {
        play(7);
        say({Kind::out_of_reach});
        say({Kind::to_be_replaced});
        say({Kind::in_reach});
        say({Kind::ready});
        CHECK(state() == ProcessState::ready);
        CHECK(count_of<StopProcess>() == 0);
    }
    SUBCASE("with a match of its own") {
        say({Kind::allocated_itself});
        say({Kind::out_of_reach});
        say({Kind::to_be_replaced});
        CHECK(count_of<StopProcess>() == 0);
        say({Kind::ready});
        CHECK(count_of<StopProcess>() == 1);
    }
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-21: an unhealthy process is ended and counted and a shutdown is as wished") {
    configure({agones()});
    say({Kind::ready});
    play(7);
    SUBCASE("unhealthy") {
        say({Kind::unhealthy, {}, "no health for 15 s"});
        CHECK(state() == ProcessState::unhealthy);
        CHECK(orders_of<LeaveMuster>().at(0).crashed);
        CHECK(news(ProcessNews::Kind::unhealthy) == 1);
        exit({.signal = SIGTERM});
        CHECK(process().last_exit->reason == "unhealthy: no health for 15 s; signal 15 (SIGTERM)");
        say({Kind::ready});  // late words of a dead process
        CHECK(state() == ProcessState::backoff);
    }
    SUBCASE("shutdown") {
        say({Kind::shutdown});
        CHECK(told().back() == Tell::ended);
        CHECK(state() == ProcessState::stopping);
        exit(clean_exit);
        CHECK(state() == ProcessState::backoff);
    }
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "G-21: after an abort the process takes no offer before it says that it is ready") {
    configure({agones()});
    say({Kind::ready});
    play(7);
    supervisor.aborted(now(), id(), LobbyId(7), "Operator");
    work();
    CHECK(count_of<DropMatch>() == 1);
    CHECK(count_of<StopProcess>() == 0);
    offer(8);
    CHECK(told().back() == Tell::decline);
    say({Kind::ready});
    offer(9);
    CHECK(count_of<OfferMatch>() == 2);
}

Adopted survivor(std::string name, std::uint16_t port) {
    return {.name = std::move(name),
            .run = "arena",
            .pid = 50,
            .port = port,
            .life = "abc",
            .ran = 10min,
            .was_ready = true};
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "G-7: what still runs is adopted with its port and match and nothing is started for it") {
    RunConfig run = arena();
    run.count = run.count_max = 2;
    runs = {run};
    supervisor.configure(now(), ports, runs);
    Adopted first = survivor("arena-1", 7000);
    first.match = MatchHeld{.match = {.lobby = LobbyId(7)}, .stage = MatchHeld::Stage::started};
    REQUIRE(supervisor.adopt(now(), first));
    CHECK_FALSE(supervisor.adopt(now(), survivor("arena-1", 7001)));  // its place is taken
    CHECK_FALSE(supervisor.adopt(now(), survivor("arena-2", 7000)));  // its port is taken
    for (const char* name : {"arena-0", "arena-", "arena", "arena-1x", "other-1"})
        CHECK_FALSE(supervisor.adopt(now(), survivor(name, 7005)));
    configure(runs);
    CHECK(count_of<StartProcess>() == 1);
    CHECK(state("arena-1") == ProcessState::allocated);
    CHECK(process("arena-1").life == "abc");
    CHECK(process("arena-2").port == 7001);
    CHECK(orders_of<JoinMuster>().at(0).process == id("arena-1"));
    exit(clean_exit, "arena-1");
    CHECK(told().back() == Tell::ended);
    CHECK(process("arena-1").last_exit->ran == 10min);
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-7: what is not wanted any more is adopted and drained") {
    runs = {arena()};
    supervisor.configure(now(), ports, runs);
    REQUIRE(supervisor.adopt(now(), survivor("arena-2", 7002)));  // above count_max
    Adopted gone = survivor("old-1", 7003);
    gone.run = "old";
    gone.config = std::make_shared<const RunConfig>(agones());
    gone.match = MatchHeld{.match = {.lobby = LobbyId(7)}, .stage = MatchHeld::Stage::ready};
    REQUIRE(supervisor.adopt(now(), gone));
    configure(runs);
    CHECK(state("arena-1") == ProcessState::stopped);  // never two where one is wanted
    CHECK(state("old-1") == ProcessState::allocated);
    say({Kind::ready}, "old-1");
    CHECK(state("old-1") == ProcessState::stopping);
    exit(clean_exit, "old-1");
    CHECK(supervisor.find("old-1") == nullptr);
}

}  // namespace
}  // namespace muster
