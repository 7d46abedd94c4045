#include "sim/disk.h"

#include <vector>

#include <doctest/doctest.h>

#include "base/virtual_clock.h"

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

struct HeardDisk final : DiskWatcher {
    void durable(const RecordBatch& batch) override { numbers.push_back(batch.number); }
    void pruned(const std::map<std::int64_t, EventRecord>& events) override { left = events.size(); }
    Time stopped_until() const override { return stopped; }
    bool step() override { return true; }
    bool forge(const RecordBatch&) override { return forging; }
    std::vector<std::uint64_t> numbers;
    bool forging = false;
    std::size_t left = 0;
    Time stopped{};
};

struct DiskFixture {
    DiskFixture() {
        disk.open([this](const BatchOutcome& outcome) { outcomes.push_back(outcome); });
    }
    void run(Duration by) {
        const Time end = clock.now() + by;
        while (agenda.step(end)) {
        }
    }
    RecordBatch batch(std::uint64_t number) {
        return {number, {MatchForgotten{LobbyId(1)}, NumbersReserved{static_cast<std::int32_t>(number), 1, 1}}};
    }

    VirtualClock clock;
    Agenda agenda{clock};
    HeardDisk watcher;
    Disk disk{agenda, clock, Random(7), DiskConditions{}, watcher};
    std::vector<BatchOutcome> outcomes;
};

}  // namespace

TEST_CASE_FIXTURE(DiskFixture, "batches become durable in order, and are answered after they are") {
    for (std::uint64_t number = 1; number <= 5; ++number) CHECK(disk.submit(batch(number)));
    CHECK(watcher.numbers.empty());
    run(1s);
    CHECK(watcher.numbers == std::vector<std::uint64_t>{1, 2, 3, 4, 5});
    REQUIRE(outcomes.size() == 5);
    for (std::uint64_t number = 1; number <= 5; ++number) {
        CHECK(outcomes[number - 1].number == number);
        CHECK(outcomes[number - 1].fault == StoreFault::none);
    }
}

TEST_CASE_FIXTURE(DiskFixture,
                  "fault 4: a full disk answers so and keeps nothing, and works again when there is room") {
    disk.set_full(true);
    CHECK(disk.submit(batch(1)));
    run(1s);
    disk.set_full(false);
    CHECK(disk.submit(batch(2)));
    run(1s);
    REQUIRE(outcomes.size() == 2);
    CHECK(outcomes[0].fault == StoreFault::full);
    CHECK(outcomes[1].fault == StoreFault::none);
    CHECK(watcher.numbers == std::vector<std::uint64_t>{2});
}

TEST_CASE_FIXTURE(DiskFixture, "fault 5: too many waiting batches are refused") {
    DiskConditions small;
    small.queue_max = 2;
    disk.set_conditions(small);
    CHECK(disk.submit(batch(1)));
    CHECK(disk.submit(batch(2)));
    CHECK_FALSE(disk.submit(batch(3)));
}

TEST_CASE("fault 2: a crash keeps the transaction under way whole or not at all, and nothing behind it") {
    int kept = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        VirtualClock clock;
        Agenda agenda(clock);
        HeardDisk watcher;
        Disk disk(agenda, clock, Random(seed), DiskConditions{}, watcher);
        disk.open([](const BatchOutcome&) { FAIL("nobody is told"); });
        for (std::uint64_t number = 1; number <= 3; ++number) {
            CHECK(disk.submit({number, {NumbersReserved{static_cast<std::int32_t>(number + 1), 1, 1}}}));
        }
        disk.crash();
        while (agenda.step(clock.now() + 1s)) {
        }
        CHECK(watcher.numbers.size() <= 1);  // the first began at once, alone
        kept += static_cast<int>(watcher.numbers.size());
        CHECK(disk.open(nullptr).numbers.server_ids_below == static_cast<std::int32_t>(watcher.numbers.size()) + 1);
    }
    CHECK(kept > 10);
    CHECK(kept < 40);
}

TEST_CASE("faults 2 and 4: what follows a batch that failed is not written, by a crash or an orderly end neither") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        for (const bool crashes : {true, false}) {
            VirtualClock clock;
            Agenda agenda(clock);
            HeardDisk watcher;
            Disk disk(agenda, clock, Random(seed), DiskConditions{}, watcher);
            std::vector<BatchOutcome> outcomes;
            disk.open([&](const BatchOutcome& outcome) {
                outcomes.push_back(outcome);
                // The next sync, of those that follow, is under way when Muster ends.
                disk.set_full(false);
            });
            disk.set_full(true);
            for (std::uint64_t number = 1; number <= 3; ++number) {
                RecordBatch next{number, {NumbersReserved{static_cast<std::int32_t>(number + 1), 1, 1}}};
                next.follows = number - 1;
                CHECK(disk.submit(std::move(next)));
            }
            while (outcomes.empty()) REQUIRE(agenda.step(clock.now() + 1s));
            REQUIRE(outcomes.size() == 1);
            CHECK(disk.waiting() == 2);
            if (crashes) {
                disk.crash();
            } else {
                disk.close();
            }
            CHECK(watcher.numbers.empty());
            CHECK(disk.open(nullptr).numbers.server_ids_below == 1);
        }
    }
}

TEST_CASE_FIXTURE(DiskFixture,
                  "fault 18: a date that is days ahead for a minute prunes nothing, and one that lasts does") {
    const auto event = [this](std::int64_t id) { return EventRecord{id, clock.wall(), "test", ""}; };
    REQUIRE(disk.submit({1, {event(1)}}));
    run(2min);
    CHECK(watcher.left == 1);
    clock.step_wall(std::chrono::hours(400));
    run(5min);
    CHECK(watcher.left == 1);
    disk.crash();
    disk.open([](const BatchOutcome&) {});
    run(5min);
    CHECK(watcher.left == 1);
    run(10min);
    CHECK(watcher.left == 0);
}

TEST_CASE_FIXTURE(DiskFixture, "L-8: the store's thread stands still with its process") {
    watcher.stopped = clock.now() + 10s;
    REQUIRE(disk.submit(batch(1)));
    run(9s);
    CHECK(watcher.numbers.empty());
    run(2s);
    CHECK(watcher.numbers.size() == 1);
}
