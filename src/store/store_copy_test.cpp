#include "store/store_copy.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "store/committer.h"
#include "store/sample_records.h"
#include "store/scratch_directory.h"
#include "store/store_fault.h"

using namespace muster;

namespace {

struct CopyFixture {
    ScratchDirectory scratch;
    std::string path = scratch.file("muster.db");
    std::string backup = scratch.file("backup.db");

    static void write(Committer& committer, std::vector<Record> records) {
        const RecordBatch batch{1, std::move(records)};
        REQUIRE(committer.commit({&batch, 1}, sample_now) == StoreFault::none);
    }
    void make(std::vector<Record> records) const {
        Committer committer({.path = path});
        write(committer, std::move(records));
    }
    static RecoveredState recovered(const std::string& file) {
        return Committer({.path = file}).recover(UnixMs{sample_now.value - 1'000});
    }
    template <class Call>
    static int exit_of(Call call) {
        try {
            call();
        } catch (const StoreError& error) {
            return error.exit_code;
        }
        return 0;
    }
};

}  // namespace

TEST_CASE_FIXTURE(CopyFixture, "X-4: a backup of a store in use is whole, its owner's alone, and overwrites nothing") {
    Committer committer({.path = path});
    write(committer, {sample_server(1), sample_match(5, MatchState::started, sample_now)});
    back_up(path, backup);
    write(committer, {sample_server(2)});
    struct stat found{};
    REQUIRE(stat(backup.c_str(), &found) == 0);
    CHECK((found.st_mode & 0777) == 0600);
    CHECK(exit_of([&] { back_up(path, backup); }) == exit_io);
    CHECK(recovered(backup).servers.size() == 1);
    CHECK(recovered(backup).matches.size() == 1);
    CHECK_FALSE(std::filesystem::exists(backup + ".part"));
    CHECK(committer.recover(sample_now).servers.size() == 2);
}

TEST_CASE_FIXTURE(CopyFixture,
                  "X-4: a second backup to the same file is told of the first, and a killed one's rest is replaced") {
    make({sample_server(1)});
    const std::string part = backup + ".part";
    std::ofstream(part) << "half of it";
    const int other = open(part.c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(other >= 0);
    REQUIRE(flock(other, LOCK_EX) == 0);
    std::string told;
    try {
        back_up(path, backup);
    } catch (const StoreError& error) {
        CHECK(error.exit_code == exit_in_use);
        told = error.what();
    }
    CHECK(told == backup + " is being written by another backup");
    CHECK(std::filesystem::file_size(part) == 10);
    CHECK_FALSE(std::filesystem::exists(backup));

    close(other);  // as when it is killed
    back_up(path, backup);
    CHECK(recovered(backup).servers.size() == 1);
    CHECK_FALSE(std::filesystem::exists(part));
}

TEST_CASE_FIXTURE(CopyFixture,
                  "X-4: a store that was opened and closed leaves no lock file, and another's lock file stays") {
    make({sample_server(1)});
    CHECK_FALSE(std::filesystem::exists(path + ".lock"));
    std::ofstream(path + ".lock") << "";
    CHECK(recovered(path).servers.size() == 1);
    CHECK(std::filesystem::exists(path + ".lock"));
}

TEST_CASE_FIXTURE(CopyFixture, "X-4: only a store of Muster is backed up or restored") {
    CHECK(exit_of([&] { back_up(path, backup); }) == exit_io);
    std::ofstream(path) << std::string(4096, 'x');
    CHECK(exit_of([&] { back_up(path, backup); }) == exit_damaged);
    CHECK_FALSE(std::filesystem::exists(backup));
    std::filesystem::remove(path);
    make({sample_server(1)});
    std::ofstream(backup) << std::string(4096, 'x');
    CHECK(exit_of([&] { restore(backup, path); }) == exit_damaged);
    std::ofstream(backup, std::ios::trunc).close();
    CHECK(exit_of([&] { restore(backup, path); }) == exit_damaged);
    CHECK(exit_of([&] { restore("/dev/null", path); }) == exit_damaged);
    CHECK(recovered(path).servers.size() == 1);
}

TEST_CASE_FIXTURE(CopyFixture, "X-4: a restore brings the backup back, with ids, epochs and event ids far ahead") {
    make({sample_server(1), NumbersReserved{100, 200, 300}});
    back_up(path, backup);
    make({sample_server(2), NumbersReserved{5'000, 200, 9'000}, AccountRecord{"ann", AccountId(70)}});
    const Restored restored = restore(backup, path);
    const RecoveredState state = recovered(path);
    CHECK(state.servers.size() == 1);
    CHECK(state.numbers == restored.numbers);
    CHECK(state.numbers.server_ids_below > 5'000);
    CHECK(state.numbers.epochs_below > 200);
    CHECK(state.numbers.event_ids_below > 9'000);
    CHECK(recovered(restored.old_store).servers.size() == 2);
    // Whoever was given an account after the backup keeps it to himself.
    CHECK(state.accounts.back().account.value > 70);
    CHECK(state.accounts.back().name.empty());
    CHECK(recovered(backup).numbers == NumbersReserved{100, 200, 300});

    SUBCASE("a second time, and the first old store stays") {
        const Restored again = restore(backup, path);
        CHECK(again.old_store != restored.old_store);
        CHECK(recovered(restored.old_store).servers.size() == 2);
    }
    SUBCASE("in place of a damaged store, or of none") {
        std::ofstream(path, std::ios::trunc) << "damaged";
        restore(backup, path);
        CHECK(recovered(path).servers.size() == 1);
        std::filesystem::remove(path);
        CHECK(restore(backup, path).old_store.empty());
        CHECK(recovered(path).servers.size() == 1);
    }
    SUBCASE("server ids do not overflow") {
        make({NumbersReserved{std::numeric_limits<std::int32_t>::max() - 5, 1, 1}});
        CHECK(restore(backup, path).numbers.server_ids_below == std::numeric_limits<std::int32_t>::max());
    }
}

TEST_CASE_FIXTURE(CopyFixture, "fault 7: a store that is in use is neither replaced nor compacted") {
    make({sample_server(1)});
    back_up(path, backup);
    const Committer held({.path = path});
    CHECK(exit_of([&] { restore(backup, path); }) == exit_in_use);
    CHECK(exit_of([&] { compact(path); }) == exit_in_use);
}

TEST_CASE_FIXTURE(CopyFixture, "fault 19: compacting gives back what pruning has freed") {
    {
        Committer committer({.path = path});
        std::vector<Record> events;
        for (std::int64_t id = 1; id <= 200'000; ++id) events.emplace_back(sample_event(id, sample_now));
        write(committer, std::move(events));
        while (committer.prune_step(UnixMs{sample_now.value + 1})) {
        }
    }
    const Compacted compacted = compact(path);
    CHECK(compacted.bytes_after < compacted.bytes_before / 4);
    CHECK(std::filesystem::file_size(path) == static_cast<std::uintmax_t>(compacted.bytes_after));
    CHECK(recovered(path).servers.empty());
}
