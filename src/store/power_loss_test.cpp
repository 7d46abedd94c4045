// Fault 2: the power fails at any instant; unsynced writes are lost, reordered or torn.
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <doctest/doctest.h>

#include "store/committer.h"
#include "store/fault_vfs.h"
#include "store/sample_records.h"
#include "store/scratch_directory.h"
#include "store/store.h"

using namespace muster;

namespace {

constexpr std::uint64_t batches = 60;

// Batch n is n servers up to its triangular number, some events, and clock n: a whole one can be told from a part.
RecordBatch numbered_batch(std::uint64_t number) {
    RecordBatch batch{number, {ClockRecord{static_cast<std::int64_t>(number), 1}}};
    const auto first = static_cast<std::int32_t>(number * (number - 1) / 2);
    for (std::int32_t i = 1; i <= static_cast<std::int32_t>(number); ++i)
        batch.records.emplace_back(sample_server(first + i));
    batch.records.emplace_back(sample_event(static_cast<std::int64_t>(number), sample_now));
    return batch;
}

// What one disk held when its power failed, and how many batches had been answered.
struct Loss {
    std::filesystem::path directory;
    std::uint64_t answered;
};

// Commits all batches, in groups, with the log moved now and then, on a disk that loses its power before many of its
// operations and yet goes on.
std::vector<Loss> run_with_losses(const ScratchDirectory& scratch, Random& random) {
    FaultVfs disk;
    std::vector<Loss> losses;
    std::uint64_t answered = 0;
    const std::string path = scratch.file("muster.db");
    {
        const Committer made({.path = path});
    }
    disk.before_each_operation([&] {
        if (!random.chance(0.3)) return;
        losses.push_back({scratch.path() / std::to_string(losses.size()), answered});
        std::filesystem::create_directory(losses.back().directory);
        disk.lose_power(losses.back().directory, random);
    });
    Committer committer({.path = path, .vfs = disk.name()});
    while (answered < batches) {
        std::vector<RecordBatch> group;
        const std::uint64_t count = std::min(1 + random.below(4), batches - answered);
        for (std::uint64_t i = 1; i <= count; ++i) group.push_back(numbered_batch(answered + i));
        REQUIRE(committer.commit(group, sample_now) == StoreFault::none);
        answered += count;
        if (random.chance(0.2)) committer.shorten_log();
        if (random.chance(0.1)) committer.empty_log();
        if (random.chance(0.1)) committer.prune_step(UnixMs{sample_now.value + 1});
    }
    disk.before_each_operation(nullptr);
    return losses;
}

// What the disk holds is some number of first batches, whole, with all that were answered.
void check(const Loss& loss) {
    Committer committer({.path = (loss.directory / "muster.db").string()});
    const RecoveredState state = committer.recover(UnixMs{0});
    const auto durable = static_cast<std::uint64_t>(state.has_clock ? state.clock.elapsed_game_ms : 0);
    REQUIRE(durable >= loss.answered);
    REQUIRE(durable <= batches);
    REQUIRE(state.servers.size() == durable * (durable + 1) / 2);
    Database reader(committer.path(), Database::Access::read_only);
    REQUIRE(reader.text("PRAGMA integrity_check") == "ok");
}

}  // namespace

TEST_CASE("fault 2: after a power loss at any step the file checks clean and holds every answered batch whole") {
    const std::uint64_t seeds = std::getenv("MUSTER_TEST_LONG") ? 60 : 4;
    std::size_t total = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const ScratchDirectory scratch;
        const std::vector<Loss> losses = run_with_losses(scratch, random);
        REQUIRE(losses.size() > 20);
        for (std::size_t i = 0; i < losses.size(); ++i) {
            CAPTURE(i);
            check(losses[i]);
        }
        total += losses.size();
    }
    MESSAGE(total << " power losses");
}

TEST_CASE("fault 3: a start after a failed sync builds on nothing that only the kernel's memory holds") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const ScratchDirectory scratch;
        FaultVfs disk;
        const StoreFileOptions options{.path = scratch.file("muster.db"), .vfs = disk.name()};
        std::uint64_t answered = 0;
        const auto commit = [&](Committer& committer) {
            const RecordBatch batch = numbered_batch(answered + 1);
            const StoreFault fault = committer.commit({&batch, 1}, sample_now);
            if (fault == StoreFault::none) ++answered;
            return fault;
        };
        {
            Committer committer(options);
            REQUIRE(commit(committer) == StoreFault::none);
            disk.fail_syncs();
            CHECK_THROWS_AS(commit(committer), StoreError);
            committer.distrust();
        }
        disk.fail_syncs(false);
        Committer committer(options);
        // The batch whose sync failed may be there: it is readable, so it has to be made durable.
        answered = static_cast<std::uint64_t>(committer.recover(UnixMs{0}).clock.elapsed_game_ms);
        REQUIRE(commit(committer) == StoreFault::none);
        const auto directory = scratch.path() / "after";
        std::filesystem::create_directory(directory);
        disk.lose_power(directory, random);
        check({directory, answered});
    }
}
