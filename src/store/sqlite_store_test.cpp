#include "store/sqlite_store.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "base/system_clock.h"
#include "store/committer.h"
#include "store/fault_vfs.h"
#include "store/hand_clock.h"
#include "store/outcome_log.h"
#include "store/sample_records.h"
#include "store/scratch_directory.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct StoreFixture {
    ScratchDirectory scratch;
    HandClock clock;
    FaultVfs disk;
    SqliteStoreOptions options{.file = {.path = scratch.file("muster.db"), .vfs = disk.name()}};
    OutcomeLog log;  // the store's thread tells it to the last
    std::unique_ptr<SqliteStore> store;
    std::uint64_t syncs_at_open = 0;

    void open() {
        store = std::make_unique<SqliteStore>(clock, options);
        syncs_at_open = disk.syncs();
        log.start(*store);
    }
    bool submit(std::uint64_t number) {
        return store->submit({number, {sample_server(static_cast<std::int32_t>(number))}});
    }
    // What a restart would find.
    RecoveredState reopened() {
        store.reset();
        return SqliteStore(clock, options).recover();
    }
    // All bytes of the file and of what stands beside it.
    std::string bytes_on_disk() const {
        std::string bytes;
        for (const auto& entry : std::filesystem::directory_iterator(scratch.path())) {
            std::ifstream file(entry.path(), std::ios::binary);
            bytes.append(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
        }
        return bytes;
    }
};

}  // namespace

TEST_CASE_FIXTURE(StoreFixture, "A-9: batches are answered in order, and what was answered is there after a restart") {
    open();
    for (std::uint64_t number = 1; number <= 200; ++number) REQUIRE(submit(number));
    REQUIRE(log.wait_for(200));
    CHECK(log.good_in_order() == 200);
    CHECK(store->figures().queue_depth == 0);
    CHECK(store->figures().records == 200);
    CHECK(reopened().servers.size() == 200);
}

TEST_CASE_FIXTURE(StoreFixture, "X-4: batches that came while a sync was under way share the next one") {
    open();
    REQUIRE(submit(1));
    REQUIRE(log.wait_for(1));
    disk.hold_syncs();
    REQUIRE(submit(2));
    disk.wait_for_held_sync();
    for (std::uint64_t number = 3; number <= 100; ++number) REQUIRE(submit(number));
    const std::uint64_t syncs = disk.syncs();
    disk.let_syncs_go();
    REQUIRE(log.wait_for(100));
    CHECK(log.good_in_order() == 100);
    CHECK(store->figures().commits == 3);
    CHECK(disk.syncs() - syncs == 2);
}

TEST_CASE_FIXTURE(StoreFixture,
                  "X-4: the commits of a busy store are apart, a few at once are not, and a stop waits not") {
    options.commits_apart = 24h;
    open();
    std::uint64_t number = 0;
    while (number < CommitPace::burst) {
        REQUIRE(submit(++number));
        REQUIRE(log.wait_for(number));
    }
    CHECK(store->figures().commits == number);
    for (int i = 0; i < 20; ++i) REQUIRE(submit(++number));
    // They share the next one, which is a day away.
    SUBCASE("a stop writes them") {
        CHECK(store->stop(30s));
        CHECK(log.good_in_order() == number);
        CHECK(store->figures().commits == CommitPace::burst + 1);
    }
    SUBCASE("an end without a stop loses them, as a crash does") {
        CHECK(reopened().servers.size() == CommitPace::burst);
    }
}

TEST_CASE_FIXTURE(StoreFixture, "X-4: a transaction is bounded, and a batch is never split") {
    options.records_per_commit_max = 10;
    open();
    disk.hold_syncs();
    REQUIRE(submit(1));
    disk.wait_for_held_sync();
    RecordBatch large{2, {}};
    for (std::int32_t id = 100; id < 125; ++id) large.records.emplace_back(sample_server(id));
    REQUIRE(store->submit(std::move(large)));
    for (std::uint64_t number = 3; number <= 23; ++number) REQUIRE(submit(number));
    disk.let_syncs_go();
    REQUIRE(log.wait_for(23));
    CHECK(log.good_in_order() == 23);
    // Batch 1, the large one, then 10 + 10 + 1.
    CHECK(store->figures().commits == 5);
}

TEST_CASE_FIXTURE(StoreFixture, "A-12, fault 5: what a thousand matches a second write in a second fits one sync") {
    open();
    disk.hold_syncs();
    REQUIRE(submit(1));
    disk.wait_for_held_sync();
    constexpr std::int64_t records = 10'000;
    constexpr std::int64_t batches = 500;
    std::int64_t id = 0;
    for (std::uint64_t number = 2; number <= batches + 1; ++number) {
        RecordBatch batch{number, {}};
        while (id < static_cast<std::int64_t>(number - 1) * records / batches)
            batch.records.emplace_back(sample_event(++id, clock.wall()));
        REQUIRE(store->submit(std::move(batch)));
    }
    disk.let_syncs_go();
    REQUIRE(log.wait_for(batches + 1));
    CHECK(log.good_in_order() == batches + 1);
    CHECK(store->figures().commits == 2);
}

TEST_CASE_FIXTURE(StoreFixture, "fault 5: while a sync hangs, handing over takes no time and refuses past the bound") {
    constexpr std::size_t queue_max = 64;
    options.queue_max = queue_max;
    open();
    disk.hold_syncs();
    const SystemClock real;
    std::vector<Duration> took;
    std::size_t taken = 0;
    for (std::uint64_t number = 1; number <= queue_max + 10; ++number) {
        const Time began = real.now();
        if (submit(number)) ++taken;
        took.push_back(real.now() - began);
        if (number == 1) disk.wait_for_held_sync();
    }
    CHECK(taken == queue_max);
    CHECK(store->figures().queue_depth == queue_max);
    CHECK(log.all().empty());
    // Nine in ten: now and then the machine itself has other things to do.
    std::sort(took.begin(), took.end());
    CHECK(took[took.size() * 9 / 10] < 1ms);
    MESSAGE("slowest submit " << to_milliseconds(took.back()) << " ms");

    RecordBatch refused{99, {sample_server(99)}};
    CHECK_FALSE(store->submit(std::move(refused)));
    CHECK(refused.records.size() == 1);  // NOLINT(bugprone-use-after-move): a refused batch stays with its owner
    disk.let_syncs_go();
    REQUIRE(log.wait_for(queue_max));
    CHECK(log.good_in_order() == queue_max);
    CHECK(submit(queue_max + 1));
}

TEST_CASE_FIXTURE(StoreFixture, "X-3: a stop writes what waits and leaves one file") {
    open();
    for (std::uint64_t number = 1; number <= 50; ++number) REQUIRE(submit(number));
    CHECK(store->stop(30s));
    CHECK(log.good_in_order() == 50);
    CHECK_FALSE(submit(51));
    CHECK(store->stop(0s));
    store.reset();
    CHECK_FALSE(std::filesystem::exists(options.file.path + "-wal"));
    CHECK(reopened().servers.size() == 50);
}

TEST_CASE_FIXTURE(StoreFixture, "X-3: a stop that takes too long says that not all was written") {
    open();
    REQUIRE(submit(1));
    REQUIRE(log.wait_for(1));
    disk.hold_syncs();
    REQUIRE(submit(2));
    disk.wait_for_held_sync();
    REQUIRE(submit(3));
    CHECK_FALSE(store->stop(1ms));
    disk.let_syncs_go();
    // The write that was under way is whole; the one behind it never began.
    CHECK(reopened().servers.size() == 2);
    CHECK(log.good_in_order() == 2);
}

TEST_CASE_FIXTURE(StoreFixture, "X-4: what the cache took for a burst is given back, and the store goes on") {
    Committer committer(options.file);
    CHECK_FALSE(committer.is_cache_large());
    RecordBatch burst{1, {}};
    for (std::int32_t id = 1; id <= 5'000; ++id) burst.records.emplace_back(sample_server(id));
    REQUIRE(committer.commit({&burst, 1}, clock.wall()) == StoreFault::none);
    CHECK(committer.is_cache_large());
    committer.release_cache();
    CHECK_FALSE(committer.is_cache_large());
    const RecordBatch next{2, {sample_server(5'001)}};
    REQUIRE(committer.commit({&next, 1}, clock.wall()) == StoreFault::none);
    CHECK(committer.recover(UnixMs{0}).servers.size() == 5'001);
}

TEST_CASE_FIXTURE(StoreFixture, "X-4: a store that never started stops and closes") {
    store = std::make_unique<SqliteStore>(clock, options);
    CHECK(store->recover().servers.empty());
    CHECK(store->stop(1s));
}

TEST_CASE_FIXTURE(StoreFixture, "X-4: events are read while commits go on, only those that are durable") {
    open();
    std::uint64_t number = 0;
    std::int64_t seen = 0;
    for (int round = 0; round < 200; ++round) {
        ++number;
        REQUIRE(store->submit({number, {sample_event(static_cast<std::int64_t>(number), clock.wall())}}));
        for (const EventRecord& event : store->events_after(seen, 10)) {
            if (event != sample_event(seen + 1, clock.wall())) FAIL("a gap in the history");
            ++seen;
        }
    }
    REQUIRE(log.wait_for(number));
    CHECK(store->events_after(0, 1000).size() == number);
    CHECK(store->events_after(static_cast<std::int64_t>(number) - 3, 1000).size() == 3);
    CHECK(store->events_after(0, 0).empty());
}

TEST_CASE_FIXTURE(StoreFixture, "K-3: once a match is over and the store is idle, its token is nowhere on the disk") {
    options.idle_after = 1ms;
    open();
    std::vector<std::string> tokens;
    std::uint64_t number = 0;
    for (std::int32_t lobby = 1; lobby <= 400; ++lobby) {
        const MatchRecord match = sample_match(lobby, MatchState::allocated, clock.wall());
        tokens.push_back(match.token);
        REQUIRE(store->submit({++number, {match}}));
        if (lobby % 100 == 0) REQUIRE(log.wait_for(number));
    }
    CHECK(bytes_on_disk().find(tokens[0]) != std::string::npos);
    for (std::int32_t lobby = 1; lobby <= 400; ++lobby) {
        // Every way in which a match ends, and one that lives on.
        const Record end = lobby % 4 == 0 ? Record(MatchForgotten{LobbyId(lobby)})
                                          : Record(sample_match(lobby, MatchState::ended, clock.wall()));
        if (lobby != 200) REQUIRE(store->submit({++number, {end}}));
        if (lobby % 100 == 0) REQUIRE(log.wait_for(number));
    }
    const std::string log_path = options.file.path + "-wal";
    const SystemClock real;
    const Time until = real.now() + OutcomeLog::patience;
    while (std::filesystem::file_size(log_path) > 0 && real.now() < until) std::this_thread::yield();
    const std::string bytes = bytes_on_disk();
    for (std::size_t i = 0; i < tokens.size(); ++i) CHECK((bytes.find(tokens[i]) != std::string::npos) == (i == 199));
}

TEST_CASE_FIXTURE(StoreFixture, "C-3: an idle store that keeps a clock does not empty its log every second") {
    options.idle_after = 1ms;
    open();
    std::uint64_t number = 0;
    for (; number < 100; ++number) {
        REQUIRE(store->submit({number + 1, {ClockRecord{static_cast<std::int64_t>(number), 1}}}));
        REQUIRE(log.wait_for(number + 1));
    }
    // The first sync of a log is its header's.
    CHECK(disk.syncs() <= syncs_at_open + number + 1);
}

TEST_CASE_FIXTURE(StoreFixture, "X-4: the write-ahead log stays short under load") {
    open();
    std::uint64_t number = 0;
    std::uintmax_t longest = 0;
    for (int round = 0; round < 40; ++round) {
        for (int i = 0; i < 100; ++i) REQUIRE(submit(++number));
        REQUIRE(log.wait_for(number));
        longest = std::max(longest, std::filesystem::file_size(options.file.path + "-wal"));
    }
    // One transaction of many pages may come on top of the bound.
    CHECK(longest < 2 * Committer::log_pages_max * 4096);
    CHECK(log.good_in_order() == number);
}

TEST_CASE_FIXTURE(StoreFixture, "X-4: the history is pruned in the background, by the clock and on request") {
    open();
    std::vector<Record> old;
    for (std::int64_t id = 1; id <= 2'000; ++id) old.emplace_back(sample_event(id, clock.wall()));
    REQUIRE(store->submit({1, std::move(old)}));
    REQUIRE(log.wait_for(1));
    std::uint64_t number = 1;
    SUBCASE("by the clock") {
        clock.advance(8 * 24h);
        REQUIRE(submit(++number));
    }
    SUBCASE("on request") {
        clock.advance(1s);
        store->keep_history({.keep = 1ms});
    }
    const SystemClock real;
    const Time until = real.now() + OutcomeLog::patience;
    while (!store->events_after(0, 1).empty() && real.now() < until) std::this_thread::yield();
    CHECK(store->events_after(0, 10).empty());
    REQUIRE(submit(++number));
    REQUIRE(log.wait_for(number));
    CHECK(log.good_in_order() == number);
}

TEST_CASE_FIXTURE(StoreFixture, "X-3, X-4: a reload's shorter history_keep drops what is older at once, and holds on") {
    open();
    REQUIRE(store->submit({1, {sample_event(1, clock.wall())}}));
    clock.advance(2 * 24h);
    REQUIRE(store->submit({2, {sample_event(2, clock.wall())}}));
    REQUIRE(log.wait_for(2));
    const SystemClock real;
    const auto first_event_soon = [&](std::int64_t id) {
        const Time until = real.now() + OutcomeLog::patience;
        auto events = store->events_after(0, 1);
        while ((events.empty() || events[0].id < id) && real.now() < until) {
            std::this_thread::yield();
            events = store->events_after(0, 1);
        }
        return events.empty() ? 0 : events[0].id;
    };
    CHECK(first_event_soon(1) == 1);
    store->keep_history({.keep = 24h});
    CHECK(first_event_soon(2) == 2);

    // By the clock it goes on with the new figure.
    clock.advance(25h);
    REQUIRE(store->submit({3, {sample_event(3, clock.wall())}}));
    CHECK(first_event_soon(3) == 3);
    REQUIRE(log.wait_for(3));
    CHECK(log.good_in_order() == 3);
}

TEST_CASE_FIXTURE(StoreFixture,
                  "fault 18: a date that is days ahead for a minute erases nothing, across a restart too") {
    options.prune_every = 1s;
    open();
    REQUIRE(store->submit({1, {sample_event(1, clock.wall()), sample_match(5, MatchState::ended, clock.wall())}}));
    REQUIRE(log.wait_for(1));
    std::uint64_t number = 1;
    const auto minutes_pass = [&](int minutes) {
        for (int i = 0; i < minutes; ++i) {
            clock.advance(1min);
            REQUIRE(submit(++number));
            REQUIRE(log.wait_for(number));
        }
    };
    clock.set_date_ahead(200h);
    minutes_pass(8);
    CHECK(store->events_after(0, 10).size() == 1);
    REQUIRE(store->stop(10s));
    CHECK(reopened().over.size() == 1);
    open();
    minutes_pass(8);
    CHECK(store->events_after(0, 10).size() == 1);
    // It was right after all.
    minutes_pass(4);
    const SystemClock real;
    const Time until = real.now() + OutcomeLog::patience;
    while (!store->events_after(0, 1).empty() && real.now() < until) std::this_thread::yield();
    CHECK(store->events_after(0, 10).empty());
    // The latest million lobbies are remembered whatever the date is.
    REQUIRE(store->stop(10s));
    CHECK(reopened().over.size() == 1);
}

TEST_CASE_FIXTURE(StoreFixture, "fault 18: a restart does not believe a date by what was written during the jump") {
    options.prune_every = 1s;
    open();
    REQUIRE(store->submit({1, {sample_event(1, clock.wall())}}));
    clock.set_date_ahead(200h);
    clock.advance(1min);
    REQUIRE(store->submit({2, {sample_event(2, clock.wall())}}));
    REQUIRE(log.wait_for(2));
    REQUIRE(store->stop(10s));
    store.reset();
    open();
    std::uint64_t number = 2;
    for (int minute = 0; minute < 3; ++minute) {
        clock.advance(1min);
        REQUIRE(submit(++number));
        REQUIRE(log.wait_for(number));
    }
    CHECK(store->events_after(0, 10).front().id == 1);
}

TEST_CASE_FIXTURE(StoreFixture, "fault 19, S-7: the store keeps to its size, and the oldest events make room") {
    constexpr std::int64_t bytes_max = 1 << 20;
    options.history.bytes_max = bytes_max;
    open();
    REQUIRE(store->submit({1, {sample_match(5, MatchState::ended, clock.wall()), sample_server(1)}}));
    std::int64_t id = 0;
    std::uint64_t number = 1;
    for (int round = 0; round < 60; ++round) {
        std::vector<Record> events;
        events.reserve(5'000);
        for (int i = 0; i < 5'000; ++i) events.emplace_back(sample_event(++id, clock.wall()));
        REQUIRE(store->submit({++number, std::move(events)}));
        REQUIRE(log.wait_for(number));
        clock.advance(1s);
    }
    REQUIRE(store->submit({++number, {}}));
    REQUIRE(log.wait_for(number));
    CHECK(std::filesystem::file_size(options.file.path) < 2 * bytes_max);
    CHECK(store->figures().history_bytes > bytes_max / 2);
    CHECK(store->figures().history_bytes < 3 * bytes_max / 2);
    CHECK(store->figures().free_bytes > 0);
    const auto newest = store->events_before(id + 1, 1);
    REQUIRE(newest.size() == 1);
    CHECK(newest[0].id == id);
    CHECK(store->events_after(0, 1)[0].id > id / 2);
    REQUIRE(store->stop(10s));
    const RecoveredState state = reopened();
    CHECK(state.over.size() == 1);
    CHECK(state.servers.size() == 1);
}
