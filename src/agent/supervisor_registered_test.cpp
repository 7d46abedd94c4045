// Processes that register themselves at Muster (sdk = "muster").
#include <chrono>
#include <csignal>

#include "agent/supervisor_fixture.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST_CASE_FIXTURE(SupervisorFixture, "G-6: a process with Muster's SDK is ended when its own matches are over") {
    RunConfig run = arena();
    run.sdk = SdkKind::muster;
    configure({run});
    bind_port();
    CHECK(count_of<JoinMuster>() == 0);
    supervisor.matches_held(now(), id(), 2);
    CHECK(state() == ProcessState::allocated);
    REQUIRE(supervisor.restart(now(), "arena-1"));
    work();
    CHECK(count_of<StopProcess>() == 0);
    supervisor.matches_held(now(), id(), 1);
    work();
    CHECK(count_of<StopProcess>() == 0);
    supervisor.matches_held(now(), id(), 0);
    work();
    CHECK(count_of<StopProcess>() == 1);
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "G-6: before a process with Muster's SDK is ended, Muster is asked for its matches") {
    RunConfig run = arena();
    run.sdk = SdkKind::muster;
    configure({run});
    bind_port();
    REQUIRE(supervisor.restart(now(), "arena-1"));
    work();
    CHECK(count_of<AskMatches>() == 1);
    CHECK(count_of<StopProcess>() == 0);
    SUBCASE("it has none") {
        supervisor.matches_held(now(), id(), 0);
        work();
        CHECK(count_of<StopProcess>() == 1);
    }
    SUBCASE("it has one, which ends") {
        supervisor.matches_held(now(), id(), 1);
        work();
        run_for(1min);
        CHECK(count_of<StopProcess>() == 0);
        supervisor.matches_held(now(), id(), 0);
        work();
        CHECK(count_of<StopProcess>() == 1);
    }
    SUBCASE("it has one, which takes too long") {
        supervisor.matches_held(now(), id(), 1);
        run_for(run.stop_grace_allocated);
        CHECK(count_of<StopProcess>() == 1);
    }
    SUBCASE("nobody answers") {
        run_for(Supervisor::ask_patience - 1ms);
        CHECK(count_of<StopProcess>() == 0);
        run_for(1ms);
        CHECK(count_of<StopProcess>() == 1);
    }
    CHECK(count_of<AskMatches>() == 1);
    exit({.signal = SIGTERM});
    CHECK(alive() == 1);  // the next life
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "G-9: on a host that is drained, a process with Muster's SDK is drained once it has registered") {
    RunConfig run = arena();
    run.sdk = SdkKind::muster;
    configure({run});
    supervisor.drain(now(), true);
    work();
    done.clear();
    exit(crash);
    run_for(1s);
    bind_port();
    REQUIRE(count_of<DrainAtMuster>() == 1);  // it may be at Muster already
    CHECK(orders_of<DrainAtMuster>()[0].draining);
    supervisor.matches_held(now(), id(), 0);  // it is not
    work();
    CHECK(count_of<DrainAtMuster>() == 1);
    for (int i = 0; i < 2; ++i) {
        supervisor.matches_held(now(), id(), 0, ServerId(7));
        work();
        CHECK(count_of<DrainAtMuster>() == 2);
    }
    supervisor.drain(now(), false);
    work();
    CHECK_FALSE(orders_of<DrainAtMuster>().back().draining);
    supervisor.matches_held(now(), id(), 0, ServerId(8));
    work();
    CHECK(count_of<DrainAtMuster>() == 3);
}

}  // namespace
}  // namespace muster
