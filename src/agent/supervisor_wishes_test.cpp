// Counts, reloads and drains.
#include <chrono>
#include <set>

#include "agent/supervisor_fixture.h"
#include "base/random.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using Kind = SdkFact::Kind;
using Tell = TellMatch::What;

TEST_CASE_FIXTURE(SupervisorFixture, "G-3: a count is set up to count_max and no further") {
    RunConfig run = arena();
    run.count = 2;
    run.count_max = 4;
    configure({run});
    CHECK_FALSE(supervisor.scale(now(), "arena", 5));
    CHECK_FALSE(supervisor.scale(now(), "arena", -1));
    CHECK(supervisor.scale(now(), "other", 1).error() == "No such run on this host");
    work();
    CHECK(alive() == 2);
    REQUIRE(supervisor.scale(now(), "arena", 4));
    work();
    CHECK(alive() == 4);
    CHECK(supervisor.wanted("arena") == 4);
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-3: fewer processes are wanted and those without a match go first") {
    RunConfig run = arena();
    run.count = run.count_max = 3;
    configure({run});
    for (const char* each : {"arena-1", "arena-2", "arena-3"}) bind_port(each);
    play(7, "arena-3");
    REQUIRE(supervisor.scale(now(), "arena", 1));
    work();
    CHECK(state("arena-1") == ProcessState::stopping);
    CHECK(state("arena-2") == ProcessState::stopping);
    CHECK(state("arena-3") == ProcessState::allocated);
    exit(clean_exit, "arena-1");
    exit(clean_exit, "arena-2");
    CHECK(state("arena-1") == ProcessState::stopped);
    CHECK(process("arena-1").port == 0);
    CHECK(supervisor.restart(now(), "arena-1").error() == "arena-1 is stopped; raise the count of arena");
    REQUIRE(supervisor.scale(now(), "arena", 2));
    work();
    CHECK(state("arena-1") == ProcessState::starting);
    CHECK(alive() == 2);
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-3: a count that goes down and up again keeps the match and loses nobody") {
    configure({arena()});
    bind_port();
    play(7);
    REQUIRE(supervisor.scale(now(), "arena", 0));
    work();
    CHECK(state() == ProcessState::allocated);
    REQUIRE(supervisor.scale(now(), "arena", 1));
    work();
    run_for(2h);
    CHECK(state() == ProcessState::allocated);
    CHECK(count_of<StopProcess>() == 0);
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "G-11: a reload changes counts at once and a changed command as processes get free") {
    RunConfig run = arena();
    run.count = run.count_max = 2;
    configure({run});
    bind_port("arena-1");
    bind_port("arena-2");
    play(7, "arena-2");
    run.command = {"./server2"};
    run.count = run.count_max = 3;
    configure({run});
    CHECK(alive() == 3);
    CHECK(process("arena-3").run->command[0] == "./server2");
    CHECK(state("arena-1") == ProcessState::stopping);
    CHECK(state("arena-2") == ProcessState::allocated);
    exit(clean_exit, "arena-1");
    CHECK(state("arena-1") == ProcessState::starting);
    CHECK(process("arena-1").run->command[0] == "./server2");
    exit(clean_exit, "arena-2");
    CHECK(process("arena-2").run->command[0] == "./server2");
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-11: a command that is changed and changed back replaces nobody who runs it") {
    RunConfig changed = arena();
    changed.command = {"./server2"};
    configure({arena()});
    bind_port();
    play(7);
    configure({changed});
    configure({arena()});
    CHECK_FALSE(orders_of<DrainAtMuster>().back().draining);
    run_for(3h);  // more than stop_grace_allocated
    CHECK(state() == ProcessState::allocated);
    CHECK(count_of<StopProcess>() == 0);
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-11: one that Muster is asked about stays when its command is changed back") {
    RunConfig run = arena();
    run.sdk = SdkKind::muster;
    RunConfig changed = run;
    changed.command = {"./server2"};
    configure({run});
    bind_port();
    configure({changed});
    CHECK(count_of<AskMatches>() == 1);
    configure({run});
    run_for(1h);
    CHECK(state() == ProcessState::ready);
    CHECK(count_of<StopProcess>() == 0);
    // And it can be changed in earnest.
    configure({changed});
    run_for(Supervisor::ask_patience);
    CHECK(state() == ProcessState::stopping);
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "G-11: one that was to leave and comes back is replaced when its command changed") {
    RunConfig run = arena();
    configure({run});
    bind_port();
    play(7);
    run.count = 0;
    configure({run});
    run.count = 1;
    run.command = {"./server2"};
    configure({run});
    exit(clean_exit);
    CHECK(state() == ProcessState::starting);
    CHECK(process().run->command[0] == "./server2");

    bind_port();
    play(8);
    REQUIRE(supervisor.scale(now(), "arena", 0));
    run.command = {"./server3"};
    configure({run});
    REQUIRE(supervisor.scale(now(), "arena", 1));
    work();
    run_for(run.stop_grace_allocated);
    CHECK(state() == ProcessState::stopping);
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-4: after a reload each start is on a port of the new range") {
    RunConfig run = arena();
    run.count = run.count_max = 2;
    configure({run});
    for (const char* each : {"arena-1", "arena-2"}) bind_port(each);
    ports = {8000, 8001};
    configure({run});
    CHECK(process("arena-1").port == 7000);  // as long as it runs
    exit(crash, "arena-1");
    run_for(1s);
    CHECK(ports.holds(orders_of<StartProcess>().back().port));
    CHECK(ports.holds(process("arena-1").port));
    CHECK(process("arena-2").port == 7001);
    REQUIRE(supervisor.restart(now(), "arena-2"));
    work();
    exit(clean_exit, "arena-2");
    CHECK(ports.holds(process("arena-2").port));
    CHECK(process("arena-1").port != process("arena-2").port);
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "G-4: a start that waits for its turn during a reload is on a port of the new range") {
    supervisor.configure(now(), ports, {arena()});
    supervisor.tick(now());
    REQUIRE(supervisor.take_orders().size() > 0);
    supervisor.configure(now(), {8000, 8001}, {arena()});
    CHECK_FALSE(supervisor.start_wanted(now(), id()));
    work();
    REQUIRE(count_of<StartProcess>() == 1);
    CHECK(orders_of<StartProcess>()[0].port == 8000);
    CHECK(process().port == 8000);
    CHECK(alive() == 1);
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-11: a removed run is drained and forgotten") {
    RunConfig other = arena();
    other.name = "other";
    configure({arena(), other});
    bind_port("other-1");
    play(7, "other-1");
    configure({arena()});
    CHECK(state("other-1") == ProcessState::allocated);
    CHECK_FALSE(supervisor.scale(now(), "other", 1));
    exit(clean_exit, "other-1");
    CHECK(supervisor.find("other-1") == nullptr);
    CHECK(supervisor.runs() == std::vector<std::string>{"arena"});
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-12: the end of a process is told though its run is gone from the config") {
    RunConfig other = arena();
    other.name = "other";
    other.count = other.count_max = 2;
    configure({arena(), other});
    for (const char* each : {"other-1", "other-2"}) bind_port(each);
    play(7, "other-1");
    configure({arena()});
    exit(crash, "other-2");
    exit(clean_exit, "other-1");
    CHECK(news(ProcessNews::Kind::exited) == 2);
    CHECK(news_of_nobody == 0);
    CHECK(supervisor.runs() == std::vector<std::string>{"arena"});
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-3: a drained host takes no match and keeps its processes") {
    configure({agones(2)});
    say({Kind::ready}, "arena-1");
    supervisor.drain(now(), true);
    work();
    CHECK(orders_of<DrainAtMuster>().at(0).draining);
    offer(7, "arena-1");
    CHECK(told().back() == Tell::decline);
    say({Kind::ready}, "arena-2");  // one that comes later is drained too
    CHECK(orders_of<DrainAtMuster>().at(1).process == id("arena-2"));
    CHECK(alive() == 2);
    supervisor.drain(now(), false);
    work();
    CHECK(count_of<DrainAtMuster>() == 4);
    offer(7, "arena-1");
    CHECK(count_of<OfferMatch>() == 1);
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-2: a start that waits for its turn is off when its process is to leave") {
    RunConfig run = arena();
    run.count = run.count_max = 2;
    supervisor.configure(now(), ports, {run});
    supervisor.tick(now());
    const ProcessId first = id("arena-1");
    const ProcessId second = id("arena-2");
    CHECK(supervisor.start_wanted(now(), first));
    supervisor.spawned(now(), first, 101);
    CHECK_FALSE(supervisor.start_wanted(now(), first));  // it runs
    supervisor.end_all(now(), false);
    CHECK_FALSE(supervisor.start_wanted(now(), second));
    CHECK(state("arena-2") == ProcessState::stopped);
    CHECK(process("arena-2").port == 0);
    CHECK(state("arena-1") == ProcessState::stopping);
    supervisor.exited(now(), first, clean_exit);
    CHECK(supervisor.all_ended());
}

TEST_CASE_FIXTURE(SupervisorFixture, "G-2: ending everything waits for matches unless it is to be at once") {
    RunConfig run = arena();
    run.count = run.count_max = 2;
    configure({run});
    bind_port("arena-1");
    play(7, "arena-1");
    supervisor.end_all(now(), false);
    work();
    CHECK(state("arena-1") == ProcessState::allocated);
    CHECK(state("arena-2") == ProcessState::stopping);
    exit(clean_exit, "arena-2");
    CHECK_FALSE(supervisor.all_ended());
    SUBCASE("the match ends") {
        exit(clean_exit, "arena-1");
    }
    SUBCASE("at once") {
        supervisor.end_all(now(), true);
        work();
        CHECK(state("arena-1") == ProcessState::stopping);
        exit({.signal = SIGTERM}, "arena-1");
    }
    SUBCASE("at once, and then without its grace") {
        supervisor.end_all(now(), true);
        work();
        const auto kills = [&] { return count_of<KillProcess>(); };
        const auto killed = kills();
        supervisor.end_all(now(), true);
        work();
        CHECK(kills() == killed + 1);
        exit({.signal = SIGKILL}, "arena-1");
    }
    CHECK(supervisor.all_ended());
    run_for(10min);
    CHECK(alive() == 0);
    CHECK_FALSE(supervisor.next_tick());
}

TEST_CASE_FIXTURE(SupervisorFixture, "fault 90: whatever happens no port is given twice and there are never too many") {
    RunConfig run = agones(4);
    run.count_max = 6;
    Random random(7);
    configure({run});
    for (int step = 0; step < 20'000; ++step) {
        const std::string name = "arena-" + std::to_string(random.between(1, 6));
        const Process* process = supervisor.find(name);
        if (process) {
            const auto lobby = static_cast<std::int32_t>(random.between(1, 5));
            switch (random.below(10)) {
                case 0:
                    supervisor.exited(now(), process->id, random.chance(0.5) ? clean_exit : crash);
                    break;
                case 1:
                    supervisor.heard(now(), process->id, {Kind::ready});
                    break;
                case 2:
                    supervisor.offered(now(), process->id, {.lobby = LobbyId(lobby)});
                    break;
                case 3:
                    supervisor.heard(now(), process->id, {Kind::match_ready, LobbyId(lobby)});
                    break;
                case 4:
                    supervisor.aborted(now(), process->id, LobbyId(lobby), "x");
                    break;
                case 5:
                    (void)supervisor.restart(now(), name);
                    break;
                case 6:
                    (void)supervisor.scale(now(), "arena", static_cast<std::int32_t>(random.between(0, 7)));
                    break;
                case 7:
                    supervisor.heard(now(), process->id, {Kind(random.below(8)), LobbyId(lobby)});
                    break;
                case 8:
                    supervisor.drain(now(), random.chance(0.5));
                    break;
                default:
                    run_for(std::chrono::milliseconds(random.between(0, 400'000)));
                    break;
            }
            work();
        }
        std::set<std::uint16_t> used;
        for (const Process* each : supervisor.processes()) {
            if (each->port != 0) REQUIRE(used.insert(each->port).second);
            REQUIRE((each->state != ProcessState::stopped || !each->pid));
            if (each->match) REQUIRE(each->pid);
        }
        REQUIRE(alive() <= 6);
        done.clear();
    }
    // With peace, the count is reached within the longest pause.
    REQUIRE(supervisor.scale(now(), "arena", 5));
    for (int i = 0; i < 20; ++i) {
        run_for(1min);
        for (const Process* each : supervisor.processes())
            if (each->pid && (each->being_ended() || each->wish != EndWish::none))
                supervisor.exited(now(), each->id, clean_exit);
        work();
        for (const Process* each : supervisor.processes())
            if (each->pid) supervisor.heard(now(), each->id, {Kind::ready});
        work();
    }
    CHECK(alive() == 5);
}

}  // namespace
}  // namespace muster
