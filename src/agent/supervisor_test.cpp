#include "agent/supervisor.h"

#include <chrono>
#include <set>

#include "agent/supervisor_fixture.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using Kind = SdkFact::Kind;
using Tell = TellMatch::What;

TEST_CASE_FIXTURE(SupervisorFixture,
                  "G-1: the wanted number of processes is started and each joins Muster once ready") {
    RunConfig run = arena();
    run.count = 3;
    run.count_max = 5;
    configure({run});
    CHECK(alive() == 3);
    CHECK(state("arena-1") == ProcessState::starting);
    CHECK(count_of<JoinMuster>() == 0);
    bind_port("arena-2");
    CHECK(state("arena-2") == ProcessState::ready);
    REQUIRE(count_of<JoinMuster>() == 1);
    CHECK(orders_of<JoinMuster>()[0].process == id("arena-2"));
    CHECK(news(ProcessNews::Kind::started) == 3);
    CHECK(news(ProcessNews::Kind::ready) == 1);
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-4: each process has a port of its own and a port of others is passed over") {
    foreign_ports = {7000, 7002};
    RunConfig run = arena();
    run.count = run.count_max = 3;
    configure({run});
    std::set<std::uint16_t> given;
    for (const char* each : {"arena-1", "arena-2", "arena-3"}) given.insert(process(each).port);
    CHECK(given == std::set<std::uint16_t>{7001, 7003, 7004});
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-4: no free port is told and tried again with the pauses of a failed start") {
    for (std::uint16_t port = 7000; port <= 7009; ++port) foreign_ports.insert(port);
    configure({arena()});
    CHECK(state() == ProcessState::backoff);
    CHECK(process().last_exit->reason == "cannot be started: no free port in 7000-7009");
    CHECK_FALSE(process().last_exit->ran);
    foreign_ports.clear();
    run_for(999ms);
    CHECK(state() == ProcessState::backoff);
    run_for(1ms);
    CHECK(state() == ProcessState::starting);
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "G-5: a process that is not ready within start_timeout is ended and started again") {
    configure({arena()});
    run_for(5min - 1ms);
    CHECK(state() == ProcessState::starting);
    CHECK(count_of<StopProcess>() == 0);
    run_for(1ms);
    CHECK(state() == ProcessState::stopping);
    CHECK(orders_of<StopProcess>().at(0).signal == SIGTERM);
    exit({.signal = SIGTERM});
    CHECK(state() == ProcessState::backoff);
    CHECK(process().last_exit->reason == "not ready within 5m; signal 15 (SIGTERM)");
    run_for(1s);
    CHECK(state() == ProcessState::starting);
    CHECK(process().restarts == 1);
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "fault 90: a crash is kept with its signal and followed by a restart with backoff") {
    configure({arena()});
    bind_port();
    run_for(10s);
    exit(crash);
    REQUIRE(process().last_exit);
    CHECK(process().last_exit->status == crash);
    CHECK(process().last_exit->ran == 10s);
    CHECK(process().last_exit->reason == "signal 11 (SIGSEGV)");
    CHECK(orders_of<LeaveMuster>().at(0).crashed);
    CHECK(count_of<KillProcess>() == 1);  // what it left behind
    run_for(1s);
    CHECK(state() == ProcessState::starting);
    exit(crash);
    run_for(1'999ms);
    CHECK(state() == ProcessState::backoff);
    run_for(1ms);
    CHECK(state() == ProcessState::starting);
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "fault 94: a build that crashes at once is tried twelve times an hour and told once") {
    configure({arena()});
    const auto crash_at_once = [this] {
        for (int i = 0; i < 1000 && process().pid; ++i) exit({.code = 1});
    };
    crash_at_once();
    const Time until = clock.now() + 1h;
    while (clock.now() < until) {
        const auto next = supervisor.next_tick();
        REQUIRE(next);
        run_for(*next - clock.now());
        crash_at_once();
    }
    CHECK(state() == ProcessState::crash_loop);
    CHECK(news(ProcessNews::Kind::crash_loop) == 1);
    CHECK(count_of<StartProcess>() >= 12);
    CHECK(count_of<StartProcess>() <= 5 + 13);
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-5: a command that cannot be started waits as a crash does") {
    spawns_work = false;
    configure({arena()});
    CHECK(state() == ProcessState::backoff);
    run_for(1s + 2s + 4s + 8s);
    CHECK(state() == ProcessState::crash_loop);
    CHECK(process().last_exit->reason == "cannot be started: No such file or directory");
    CHECK(news(ProcessNews::Kind::crash_loop) == 1);
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-11: a process in a crash loop is tried at once when its run has changed") {
    configure({arena()});
    while (state() != ProcessState::crash_loop) {
        exit({.code = 1});
        run_for(8s);
    }
    RunConfig same = arena();
    same.count_max = 2;
    configure({same});
    CHECK(state() == ProcessState::crash_loop);  // nothing about the process itself has changed
    RunConfig repaired = arena();
    repaired.command = {"./repaired"};
    const std::size_t before = count_of<StartProcess>();
    configure({repaired});
    CHECK(state() == ProcessState::starting);
    CHECK(count_of<StartProcess>() == before + 1);
    // What the old one did counts no more.
    exit({.code = 1});
    CHECK(state() == ProcessState::backoff);
    run_for(1s);
    CHECK(state() == ProcessState::starting);
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-5: an end that was wished for, or that ends a match, is no failure") {
    configure({arena()});
    bind_port();
    exit({.code = 0});
    CHECK(process().last_exit->failed);
    run_for(1s);
    bind_port();
    play(7);
    exit({.code = 0});
    CHECK_FALSE(process().last_exit->failed);
    run_for(1s);
    bind_port();
    CHECK(supervisor.restart(now(), "arena-1"));
    work();
    exit({.signal = SIGTERM});
    CHECK_FALSE(process().last_exit->failed);
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-6: the stop signal comes first and SIGKILL after the grace until it is gone") {
    RunConfig run = arena();
    run.stop_signal = SIGINT;
    run.stop_grace = 30s;
    configure({run});
    bind_port();
    REQUIRE(supervisor.restart(now(), "arena-1"));
    work();
    CHECK(state() == ProcessState::stopping);
    CHECK(orders_of<StopProcess>().at(0).signal == SIGINT);
    run_for(30s - 1ms);
    CHECK(count_of<KillProcess>() == 0);
    run_for(1ms);
    CHECK(count_of<KillProcess>() == 1);
    run_for(2s);
    CHECK(count_of<KillProcess>() == 3);
    exit({.signal = SIGKILL});
    CHECK(state() == ProcessState::starting);  // an operator's restart waits for nothing
    CHECK(process().last_exit->reason == "an operator restarts it; signal 9 (SIGKILL)");
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-6: a process with a match is ended when the match is over") {
    configure({arena()});
    bind_port();
    play(7);
    CHECK(state() == ProcessState::allocated);
    REQUIRE(supervisor.restart(now(), "arena-1"));
    work();
    CHECK(state() == ProcessState::allocated);
    CHECK(count_of<StopProcess>() == 0);
    CHECK(orders_of<DrainAtMuster>().at(0).draining);
    run_for(1h - 1ms);
    CHECK(count_of<StopProcess>() == 0);
    SUBCASE("the match ends by its exit") {
        exit(clean_exit);
        CHECK(told().back() == Tell::ended);
        CHECK(state() == ProcessState::starting);
    }
    SUBCASE("stop_grace_allocated has passed") {
        run_for(1ms);
        CHECK(count_of<StopProcess>() == 1);
        CHECK(count_of<LeaveMuster>() == 1);
        CHECK_FALSE(orders_of<LeaveMuster>().at(0).crashed);
    }
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-10: one match is one life and a good end is no failure however short") {
    configure({arena()});
    for (int lobby = 1; lobby <= 20; ++lobby) {
        bind_port();
        play(lobby);
        run_for(2s);
        exit(clean_exit);
        CHECK(state() == ProcessState::backoff);
        run_for(1s);
        CHECK(state() == ProcessState::starting);
    }
    CHECK(news(ProcessNews::Kind::crash_loop) == 0);
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-10: a program is ready when its port is bound or after ready_after") {
    RunConfig run = arena();
    SUBCASE("bound") {
        configure({run});
        run_for(2s);
        CHECK(state() == ProcessState::starting);
        bind_port();
        CHECK(state() == ProcessState::ready);
    }
    SUBCASE("after a time") {
        run.ready_after = 3s;
        configure({run});
        bind_port();
        CHECK(state() == ProcessState::starting);
        run_for(3s - 1ms);
        CHECK(state() == ProcessState::starting);
        run_for(1ms);
        CHECK(state() == ProcessState::ready);
    }
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-10: a match that Muster aborts ends the life of a plain program") {
    configure({arena()});
    bind_port();
    play(7);
    supervisor.aborted(now(), id(), LobbyId(7), "Operator");
    work();
    CHECK(state() == ProcessState::stopping);
    exit({.signal = SIGTERM});
    CHECK(state() == ProcessState::backoff);
    CHECK(process().last_exit->reason == "its match was aborted: Operator; signal 15 (SIGTERM)");
    CHECK(news(ProcessNews::Kind::crash_loop) == 0);
}

TEST_CASE_FIXTURE(SupervisorFixture, "A-1: an offer is taken once and declined while the process cannot take it") {
    configure({arena()});
    offer(6);
    CHECK(told() == std::vector{Tell::decline});  // not ready
    bind_port();
    play(7);
    CHECK(told() == std::vector{Tell::decline, Tell::accept, Tell::ready});
    offer(8);
    CHECK(told().back() == Tell::decline);
    run_for(Supervisor::joining_time - 1ms);
    CHECK(told().back() == Tell::decline);
    run_for(1ms);
    CHECK(told().back() == Tell::started);
    exit(crash);
    CHECK(told().back() == Tell::started);  // Muster aborts what a crash leaves
    CHECK(orders_of<LeaveMuster>().back().crashed);
}

}  // namespace
}  // namespace muster
