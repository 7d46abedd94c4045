// Faults 3 and 4: what the store does when the disk fails or fills up.
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <future>

#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

#include "base/system_clock.h"
#include "store/fault_vfs.h"
#include "store/hand_clock.h"
#include "store/outcome_log.h"
#include "store/sample_records.h"
#include "store/scratch_directory.h"
#include "store/sqlite_store.h"
#include "store/store_fault.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

RecordBatch batch_of(std::uint64_t number, std::int32_t records) {
    RecordBatch batch{number, {}};
    for (std::int32_t i = 0; i < records; ++i)
        batch.records.emplace_back(sample_server(static_cast<std::int32_t>(number) * 1000 + i));
    return batch;
}

struct DiskFixture {
    ScratchDirectory scratch;
    HandClock clock;
    FaultVfs disk;
    SqliteStoreOptions options{.file = {.path = scratch.file("muster.db"), .vfs = disk.name()}};
    OutcomeLog log;  // outlives what tells it
    std::unique_ptr<SqliteStore> store = std::make_unique<SqliteStore>(clock, options);
    std::uint64_t number = 0;

    DiskFixture() { log.start(*store); }

    StoreFault commit(std::int32_t records) {
        if (!store->submit(batch_of(++number, records))) return StoreFault::transient;
        return log.wait_for(number) ? log.last().fault : StoreFault::transient;
    }
    std::size_t servers_after_restart() {
        store.reset();
        SqliteStore again(clock, {.file = {.path = options.file.path}});
        return again.recover().servers.size();
    }
};

// Runs `test` in a process of its own and returns what it returned; that process may do to itself what it likes.
template <class Test>
int in_child(Test test) {
    const pid_t child = fork();
    if (child == 0) _exit(test());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Fills the disk of `directory` through a store until it is refused, makes room, and goes on. Returns 0 when the store
// behaved, or the number of the step that failed.
int fill_and_heal(const std::filesystem::path& directory, const std::function<void()>& make_room) {
    const SystemClock clock;
    const SqliteStoreOptions options{.file = {.path = (directory / "muster.db").string()}};
    std::size_t durable = 0;
    {
        OutcomeLog log;
        SqliteStore store(clock, options);
        log.start(store);
        std::uint64_t number = 0;
        const auto commit = [&](std::int32_t records) {
            ++number;
            if (!store.submit(batch_of(number, records)) || !log.wait_for(number)) return StoreFault::transient;
            if (log.last().fault == StoreFault::none) durable += static_cast<std::size_t>(records);
            return log.last().fault;
        };
        StoreFault fault = StoreFault::none;
        for (int i = 0; i < 200 && fault == StoreFault::none; ++i) fault = commit(500);
        if (fault != StoreFault::full) return 1;
        if (commit(500) != StoreFault::full) return 2;
        make_room();
        if (commit(500) != StoreFault::none) return 3;
        if (log.death()) return 4;
        if (store.figures().faults_full != 2) return 5;
    }
    Committer again(options.file);
    if (again.recover(UnixMs{0}).servers.size() != durable) return 6;
    Database reader(options.file.path, Database::Access::read_only);
    return reader.text("PRAGMA integrity_check") == "ok" ? 0 : 7;
}

}  // namespace

TEST_CASE_FIXTURE(DiskFixture, "fault 4: a full disk refuses the batch whole, and heals by itself when there is room") {
    FaultVfs::FullDisk shows_as{};
    SUBCASE("as SQLite's own code") {
        shows_as = FaultVfs::FullDisk::code;
    }
    SUBCASE("as a failed write") {
        shows_as = FaultVfs::FullDisk::failed_write;
    }
    REQUIRE(commit(10) == StoreFault::none);
    disk.set_room(20'000, shows_as);
    CHECK(commit(500) == StoreFault::full);
    CHECK(commit(500) == StoreFault::full);
    CHECK(store->figures().faults_full == 2);
    disk.set_room(std::nullopt);
    CHECK(commit(500) == StoreFault::none);
    CHECK_FALSE(log.death().has_value());
    CHECK(servers_after_restart() == 510);
}

TEST_CASE_FIXTURE(DiskFixture, "fault 4: every batch of a transaction that found no room is told so, in order") {
    REQUIRE(commit(1) == StoreFault::none);
    disk.hold_syncs();
    REQUIRE(store->submit(batch_of(++number, 1)));
    disk.wait_for_held_sync();
    disk.set_room(0);
    for (int i = 0; i < 5; ++i) REQUIRE(store->submit(batch_of(++number, 500)));
    disk.let_syncs_go();
    REQUIRE(log.wait_for(number));
    const auto outcomes = log.all();
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        CHECK(outcomes[i].number == i + 1);
        CHECK(outcomes[i].fault == (i < 2 ? StoreFault::none : StoreFault::full));
    }
    CHECK(servers_after_restart() == 2);
}

TEST_CASE("fault 4: a real file system of one megabyte fills up and heals") {
    const ScratchDirectory scratch;
    constexpr int not_permitted = 100;
    const int result = in_child([&] {
        // A mount of this process alone; it goes when the process goes.
        if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return not_permitted;
        if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return not_permitted;
        if (mount("tmpfs", scratch.path().c_str(), "tmpfs", 0, "size=2m") != 0) return not_permitted;
        const auto ballast = scratch.path() / "ballast";
        std::ofstream(ballast) << std::string(1 << 20, 'x');
        return fill_and_heal(scratch.path(), [&] { std::filesystem::remove(ballast); });
    });
    if (result == not_permitted) {
        MESSAGE("not permitted to mount: the simulated full disk stands for it");
        return;
    }
    CHECK(result == 0);
}

TEST_CASE("fault 4: a limit on the file's size is a full disk, too") {
    const ScratchDirectory scratch;
    const int result = in_child([&] {
        signal(SIGXFSZ, SIG_IGN);
        const rlimit small{1 << 20, RLIM_INFINITY};
        if (setrlimit(RLIMIT_FSIZE, &small) != 0) return 100;
        return fill_and_heal(scratch.path(), [] {
            const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
            setrlimit(RLIMIT_FSIZE, &none);
        });
    });
    CHECK(result == 0);
}

TEST_CASE_FIXTURE(DiskFixture, "fault 3: a failed sync ends the store at once, is said once and never retried") {
    REQUIRE(commit(10) == StoreFault::none);
    disk.fail_syncs();
    const std::uint64_t syncs = disk.syncs();
    REQUIRE(store->submit(batch_of(++number, 10)));
    REQUIRE(log.wait_for_death());
    CHECK(log.death()->exit_code == exit_io);
    CHECK(std::string(log.death()->what()).find("the disk failed to sync") != std::string::npos);
    CHECK(std::string(log.death()->what()).starts_with(options.file.path));
    CHECK_FALSE(store->submit(batch_of(++number, 10)));
    CHECK_FALSE(store->stop(10s));
    CHECK(log.all().size() == 1);
    CHECK(log.deaths() == 1);
    CHECK(store->figures().faults_fatal == 1);
    // The next start recovers: what was answered is there, and the unanswered batch whole or not at all.
    const std::size_t servers = servers_after_restart();
    CHECK((servers == 10 || servers == 20));
    CHECK(disk.syncs() - syncs == 1);
}

TEST_CASE("fault 3: a sync that fails while the log is moved into the file ends the store, too") {
    const ScratchDirectory scratch;
    const HandClock clock;
    FaultVfs disk;
    SqliteStore store(clock, {.file = {.path = scratch.file("muster.db"), .vfs = disk.name()}, .idle_after = 1ms});
    std::promise<int> exit_code;
    // The batch is answered; the next sync is the log's.
    store.start([&](const BatchOutcome&) { disk.fail_syncs(); },
                [&](const StoreError& error) { exit_code.set_value(error.exit_code); });
    REQUIRE(store.submit({1, {sample_match(5, MatchState::ended, clock.wall())}}));
    CHECK(exit_code.get_future().get() == exit_io);
}

TEST_CASE_FIXTURE(DiskFixture, "X-4: another program's write lock makes a batch fail for now, and the next one works") {
    REQUIRE(commit(10) == StoreFault::none);
    {
        Database other(options.file.path, Database::Access::read_write, disk.name());
        other.run("BEGIN IMMEDIATE");
        CHECK(commit(10) == StoreFault::transient);
    }
    CHECK(commit(10) == StoreFault::none);
    CHECK(store->figures().faults_transient == 1);
    CHECK(servers_after_restart() == 20);
}

TEST_CASE_FIXTURE(DiskFixture, "X-4: an operator's long query does not hold up commits") {
    REQUIRE(commit(10) == StoreFault::none);
    Database operators(options.file.path, Database::Access::read_only, disk.name());
    operators.run("BEGIN");
    CHECK(operators.integer("SELECT count(*) FROM servers") == 10);
    for (int i = 0; i < 20; ++i) CHECK(commit(300) == StoreFault::none);
    CHECK(operators.integer("SELECT count(*) FROM servers") == 10);
}
