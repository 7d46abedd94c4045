#include "agent/adoption.h"

#include <chrono>
#include <memory>

#include "agent/supervisor_fixture.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

ProcessRecord record_of(std::string name, std::int32_t pid, std::string life) {
    return {.name = std::move(name),
            .run = "arena",
            .fingerprint = fingerprint(SupervisorFixture::arena()),
            .sdk = SdkKind::none,
            .pid = pid,
            .start_ticks = 7,
            .boot = "boot",
            .life = std::move(life),
            .port = 7001,
            .started_at = UnixMs{1'700'000'000'000 - 5'000},
            .restarts = 2,
            .was_ready = true,
            .sdk_state = "",
            .cgroup = ""};
}

TEST_CASE("G-7: pid, start time and life must all fit for a process to go on") {
    const std::vector<ProcessRecord> records = {record_of("arena-1", 101, "a")};
    const auto census_of = [&records](SeenProcess seen) { return take_census(records, {seen}, "boot"); };
    CHECK(census_of({101, 7, "a", "arena-1"}).survivors.size() == 1);
    CHECK(census_of({101, 7, "a", "arena-1"}).unowned.empty());
    CHECK(census_of({102, 7, "a", "arena-1"}).ended.size() == 1);
    CHECK(census_of({101, 8, "a", "arena-1"}).ended.size() == 1);
    const Census other = census_of({101, 7, "b", "arena-1"});
    CHECK(other.survivors.empty());
    CHECK(other.ended.size() == 1);
    REQUIRE(other.unowned.size() == 1);
    CHECK(other.unowned[0].life == "b");
}

TEST_CASE("G-7: what ran in an earlier boot has ended with the machine, whoever has its pid now") {
    const Census census = take_census({record_of("arena-1", 101, "a")}, {{101, 7, "x", "arena-9"}}, "another boot");
    CHECK(census.survivors.empty());
    CHECK(census.ended.empty());
    CHECK(census.rebooted.size() == 1);
    CHECK(census.unowned.size() == 1);
}

TEST_CASE("G-7: a life without a record is ended once, however many processes it has") {
    const Census census = take_census(
        {record_of("arena-1", 101, "a")},
        {{101, 7, "a", "arena-1"}, {150, 9, "a", "arena-1"}, {160, 9, "c", "x"}, {161, 9, "c", "x"}}, "boot");
    CHECK(census.survivors.size() == 1);
    REQUIRE(census.unowned.size() == 1);
    CHECK(census.unowned[0].pid == 160);
}

TEST_CASE_FIXTURE(SupervisorFixture, "fault 91: Muster hears at once of a process that had no record and is ended") {
    CHECK_FALSE(record_of_unowned({101, 7, "a", "arena-1", 0}, {arena()}));
    CHECK_FALSE(record_of_unowned({101, 7, "a", "arena", 7001}, {arena()}));
    CHECK_FALSE(record_of_unowned({101, 7, "a", "../a-1", 7001}, {arena()}));
    const auto record = record_of_unowned({101, 7, "a", "arena-1", 7001}, {arena()});
    REQUIRE(record);
    supervisor.configure(now(), ports, {arena()});
    REQUIRE(supervisor.bury(now(), adopted_from(*record, {arena()}, now()), {.signal = 9}));
    configure({arena()});
    REQUIRE(count_of<JoinMuster>() == 1);
    CHECK(orders_of<JoinMuster>()[0].port == 7001);
    REQUIRE(count_of<LeaveMuster>() == 1);
    CHECK(orders_of<LeaveMuster>()[0].crashed);
    run_for(1s);
    CHECK(state() == ProcessState::starting);
}

// One agent is killed, and another begins with what it finds on the disk. Nothing runs any more by then.
struct NextAgent : SupervisorFixture {
    void takes_over(const std::vector<RunConfig>& config) {
        std::vector<ProcessRecord> records;
        for (const Process* each : supervisor.processes()) {
            if (!each->pid && !each->rests()) continue;
            ProcessRecord record = record_of(*each, now());
            record.boot = "boot";
            auto read = parse_process_record(to_json(record));
            REQUIRE(read);
            records.push_back(std::move(*read));
        }
        const Census census = take_census(std::move(records), {}, "boot");
        std::destroy_at(&supervisor);
        std::construct_at(&supervisor, ports, entropy);
        supervisor.configure(now(), ports, config);
        for (const ProcessRecord& each : census.resting)
            CHECK(supervisor.rest(now(), adopted_from(each, config, now())));
        for (const ProcessRecord& each : census.ended)
            CHECK(supervisor.bury(now(), adopted_from(each, config, now()), crash));
        configure(config);
    }
};

TEST_CASE_FIXTURE(NextAgent,
                  "G-5, G-7: a crash loop outlives the agent, is told no second time, and tried when it is due") {
    configure({arena()});
    for (int i = 0; i < 4; ++i) {
        exit({.code = 3});
        run_for(20s);
    }
    exit({.code = 3});
    REQUIRE(state() == ProcessState::crash_loop);
    run_for(2min);
    takes_over({arena()});
    CHECK(state() == ProcessState::crash_loop);
    CHECK(process().restarts == 4);
    REQUIRE(process().last_exit);
    CHECK(process().last_exit->reason == "exit code 3");
    CHECK(news(ProcessNews::Kind::crash_loop) == 1);
    run_for(2min + 59s);
    CHECK(alive() == 0);
    run_for(2s);
    CHECK(alive() == 1);
    exit({.code = 3});
    CHECK(state() == ProcessState::crash_loop);
    CHECK(news(ProcessNews::Kind::crash_loop) == 1);
}

TEST_CASE_FIXTURE(NextAgent, "G-5, G-7: failures before and after a restart of the agent make one crash loop") {
    configure({arena()});
    for (int i = 0; i < 3; ++i) {
        exit(crash);
        run_for(10s);
    }
    exit(crash);
    CHECK(state() == ProcessState::backoff);
    const Time due = process().start_at;
    takes_over({arena()});
    CHECK(state() == ProcessState::backoff);
    CHECK(process().start_at == due);
    run_for(10s);
    REQUIRE(alive() == 1);
    // It ends while no agent watches.
    takes_over({arena()});
    CHECK(state() == ProcessState::crash_loop);
    CHECK(news(ProcessNews::Kind::crash_loop) == 1);
}

TEST_CASE_FIXTURE(NextAgent, "G-11: one that waited for its next start is tried at once when its run has changed") {
    configure({arena()});
    for (int i = 0; i < 5; ++i) {
        exit(crash);
        run_for(20s);
    }
    REQUIRE(state() == ProcessState::crash_loop);
    RunConfig changed = arena();
    changed.command = {"./server", "--better"};
    takes_over({changed});
    CHECK(alive() == 1);
    exit(crash);
    CHECK(state() == ProcessState::backoff);
}

TEST_CASE_FIXTURE(SupervisorFixture, "fault 91: an adopted process keeps how its last life ended") {
    supervisor.configure(now(), ports, {arena()});
    ProcessRecord record = record_of("arena-1", 101, "a");
    record.last_exit = ProcessExit{{.signal = 11}, UnixMs{4}, 9s, "signal 11 (SIGSEGV)"};
    REQUIRE(supervisor.adopt(now(), adopted_from(record, {arena()}, now())));
    configure({arena()});
    REQUIRE(process().last_exit);
    CHECK(process().last_exit->reason == "signal 11 (SIGSEGV)");
    CHECK(process().restarts == 2);
    CHECK(state() == ProcessState::ready);
    CHECK(news(ProcessNews::Kind::ready) == 0);  // Muster has heard that from the agent before
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "G-7, G-11: an adopted process whose settings the config has again is not replaced") {
    RunConfig changed = arena();
    changed.command = {"./server2"};
    supervisor.configure(now(), ports, {changed});
    ProcessRecord record = record_of("arena-1", 101, "a");
    record.match = MatchHeld{.match = {.lobby = LobbyId(7), .token = "t"}, .stage = MatchHeld::Stage::started};
    REQUIRE(supervisor.adopt(now(), adopted_from(record, {changed}, now())));
    configure({changed});
    CHECK(process().fingerprint == record.fingerprint);  // which the next agent must know, too
    CHECK(orders_of<DrainAtMuster>().back().draining);
    configure({arena()});
    CHECK_FALSE(orders_of<DrainAtMuster>().back().draining);
    CHECK(*process().run == arena());
    run_for(3h);
    CHECK(state() == ProcessState::allocated);
    CHECK(count_of<StopProcess>() == 0);
}

TEST_CASE_FIXTURE(SupervisorFixture, "fault 91: the match of a process that ended while no agent watched is over") {
    supervisor.configure(now(), ports, {arena()});
    ProcessRecord record = record_of("arena-1", 101, "a");
    record.match = MatchHeld{.match = {.lobby = LobbyId(7), .token = "t"}, .stage = MatchHeld::Stage::started};
    REQUIRE(supervisor.bury(now(), adopted_from(record, {arena()}, now()), clean_exit));
    configure({arena()});
    CHECK(count_of<JoinMuster>() == 1);
    CHECK(told() == std::vector{TellMatch::What::ended});
    CHECK(count_of<LeaveMuster>() == 1);
    CHECK(state() == ProcessState::backoff);
    CHECK(process().last_exit->reason == "exit code 0");
    CHECK_FALSE(process().last_exit->ran);  // nobody saw when it ended
    run_for(1s);
    CHECK(state() == ProcessState::starting);
}

TEST_CASE_FIXTURE(
    SupervisorFixture,
    "fault 91, G-10: a match whose process ended nobody knows how was not ended, and nobody calls it a crash") {
    supervisor.configure(now(), ports, {arena()});
    ProcessRecord record = record_of("arena-1", 101, "a");
    record.match = MatchHeld{.match = {.lobby = LobbyId(7), .token = "t"}, .stage = MatchHeld::Stage::started};
    REQUIRE(supervisor.bury(now(), adopted_from(record, {arena()}, now()), {}));
    configure({arena()});
    CHECK(told().empty());
    REQUIRE(count_of<LeaveMuster>() == 1);
    CHECK_FALSE(orders_of<LeaveMuster>()[0].crashed);
    CHECK(process().last_exit->reason == "exit status unknown");
    CHECK(process().last_exit->failed);
}

TEST_CASE_FIXTURE(SupervisorFixture, "fault 91: a plain program that may have been told of a match gets no other one") {
    supervisor.configure(now(), ports, {arena()});
    ProcessRecord record = record_of("arena-1", 101, "a");
    record.match = MatchHeld{.match = {.lobby = LobbyId(7), .token = "t"}, .stage = MatchHeld::Stage::offered};
    REQUIRE(supervisor.adopt(now(), adopted_from(record, {arena()}, now())));
    configure({arena()});
    CHECK(state() == ProcessState::allocated);
    REQUIRE(count_of<JoinMuster>() == 1);
    CHECK(orders_of<JoinMuster>()[0].match->match.lobby == LobbyId(7));
    offer(8);
    CHECK(count_of<OfferMatch>() == 0);
    CHECK(told() == std::vector{TellMatch::What::decline});
    // Muster does not know the match any more: the process, which may play it, is ended.
    supervisor.aborted(now(), id(), LobbyId(7), "Unknown match");
    work();
    CHECK(state() == ProcessState::stopping);
}

TEST_CASE_FIXTURE(SupervisorFixture, "fault 91: what the next agent must know is written before anybody hears of it") {
    configure({arena()});
    bind_port();
    supervisor.offered(now(), id(), {.lobby = LobbyId(7), .token = "t"});
    const std::vector<Order> orders = supervisor.take_orders();
    CHECK(to_be_written_first(orders) == std::set{id()});
    CHECK(process().match->stage == MatchHeld::Stage::offered);
    // A process that has ended keeps its record until Muster was told.
    supervisor.exited(now(), id(), crash);
    CHECK(to_be_written_first(supervisor.take_orders()).empty());
}

TEST_CASE_FIXTURE(SupervisorFixture, "fault 91: a match that ended with the machine was lost, not ended") {
    supervisor.configure(now(), ports, {arena()});
    ProcessRecord record = record_of("arena-1", 101, "a");
    record.match = MatchHeld{.match = {.lobby = LobbyId(7), .token = "t"}, .stage = MatchHeld::Stage::started};
    REQUIRE(supervisor.bury(now(), adopted_from(record, {arena()}, now()), {.machine_went_down = true}));
    configure({arena()});
    CHECK(told().empty());
    REQUIRE(count_of<LeaveMuster>() == 1);
    CHECK(orders_of<LeaveMuster>()[0].crashed);
    CHECK(process().last_exit->reason == "the machine went down");
}

}  // namespace
}  // namespace muster
