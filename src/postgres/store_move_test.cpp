#include "postgres/store_move.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include <doctest/doctest.h>

#include "base/random.h"
#include "postgres/cell_owner_fixture.h"
#include "postgres/pg_store.h"
#include "postgres/test_engine.h"
#include "store/hand_clock.h"
#include "store/latest_state.h"
#include "store/outcome_log.h"
#include "store/sample_records.h"
#include "store/sqlite_store.h"
#include "store/store_fault.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

constexpr int batches = 40;

std::unique_ptr<Store> file_at(const Clock& clock, const std::string& path) {
    SqliteStoreOptions options;
    options.file.path = path;
    return std::make_unique<SqliteStore>(clock, options);
}

std::unique_ptr<Store> database_at(const Clock& clock, const std::string& url) {
    PgStoreOptions options;
    options.connection.url = url;
    options.node = "one";
    auto store = std::make_unique<PgStore>(clock, options);
    REQUIRE(store->try_to_own().ours);
    return store;
}

// Core takes no list for a lobby that is over, but a life of random records has some.
void forget_lists_of_what_is_over(Store& store) {
    const RecoveredState state = store.recover();
    RecordBatch batch{1, {}, 0};
    for (const PlayersRecord& list : state.players) {
        const auto is_list = [&](const LobbyOver& over) { return over.lobby == list.lobby; };
        if (std::ranges::any_of(state.over, is_list)) batch.records.emplace_back(PlayersForgotten{list.lobby});
    }
    OutcomeLog outcomes;
    outcomes.start(store);
    REQUIRE(store.submit(std::move(batch)));
    REQUIRE(outcomes.wait_for(1));
    CHECK(store.stop(30s));
}

// What it recovers and its events, as text; new records go in between, if wanted.
std::string life_of(Store& store, Random* random, const Clock& clock) {
    OutcomeLog outcomes;
    std::string told = as_text(store.recover());
    for (const EventRecord& event : store.events_after(0, 100'000))
        told += std::to_string(event.id) + event.type + "\n";
    outcomes.start(store);
    if (random) {
        for (std::uint64_t batch = 1; batch <= batches; ++batch)
            REQUIRE(store.submit(random_batch(*random, batch, clock.wall())));
        REQUIRE(outcomes.wait_for(batches));
        CHECK(outcomes.good_in_order() == batches);
    }
    CHECK(store.stop(30s));
    return told;
}

int ended_with(const auto& call) {
    try {
        call();
        return 0;
    } catch (const StoreError& error) {
        return error.exit_code;
    }
}

std::int64_t rows_of(const Moved& moved) {
    std::int64_t rows = 0;
    for (const MovedTable& table : moved.tables) rows += table.rows;
    return rows;
}

}  // namespace

TEST_CASE("N-1: a store goes from a file into a database and back, and is the same, row by row") {
    if (!TestEngine::is_installed()) {
        MESSAGE("PostgreSQL is not installed: nothing was tried");
        return;
    }
    TestEngine engine;
    const ScratchDirectory folder;
    const HandClock clock;
    Random random(7);
    const std::string first = (folder.path() / "first.db").string();
    const std::string second = (folder.path() / "second.db").string();
    life_of(*file_at(clock, first), &random, clock);
    forget_lists_of_what_is_over(*file_at(clock, first));
    // PostgreSQL keeps no NUL in a text, which as_text() shows as "~".
    std::string expected = life_of(*file_at(clock, first), nullptr, clock);
    for (std::size_t at = expected.find('~'); at != std::string::npos; at = expected.find('~', at))
        expected.replace(at, 1, "\xEF\xBF\xBD");
    PgOptions database;
    database.url = engine.url("moved");

    const Moved there = move_to_database(first, database);
    CHECK(rows_of(there) > 20);
    // A database that holds one is left alone, and so is a file that is there.
    CHECK(ended_with([&] { move_to_database(first, database); }) == exit_in_use);
    CHECK(ended_with([&] { move_to_file(database, first); }) == exit_io);
    const Moved back = move_to_file(database, second);
    CHECK(rows_of(back) == rows_of(there));
    CHECK_FALSE(std::filesystem::exists(second + ".part"));
    CHECK(life_of(*file_at(clock, second), nullptr, clock) == expected);

    // The database is one that a node can go on with, and what it adds comes along.
    CHECK(life_of(*database_at(clock, database.url), &random, clock) == expected);
    CHECK(rows_of(move_to_file(database, (folder.path() / "third.db").string())) > 0);

    PgOptions empty;
    empty.url = engine.url("empty");
    CHECK(ended_with([&] { move_to_file(empty, (folder.path() / "fourth.db").string()); }) == exit_damaged);
    CHECK(ended_with([&] { move_to_database((folder.path() / "none.db").string(), empty); }) == exit_io);
    PgOptions nowhere;
    nowhere.url = "postgresql://127.0.0.1:1/x";
    CHECK(ended_with([&] { move_to_database(first, nowhere); }) == exit_io);
    CHECK_FALSE(std::filesystem::exists(folder.path() / "fourth.db"));
}

TEST_CASE("N-1, N-8: a store with several cells is not copied to a file, and no file is made") {
    if (!TestEngine::is_installed()) return;
    TestEngine engine;
    const std::string url = engine.url("several");
    const HandClock clock;
    const CellPlans cells{{"eu", std::vector<RegionId>{RegionId(2)}, true},
                          {"us", std::vector<RegionId>{RegionId(0)}, true}};
    CellOwner eu(clock, url, cells, "eu");
    REQUIRE(eu.store->stop(30s));
    const ScratchDirectory folder;
    const std::string path = (folder.path() / "copy.db").string();
    PgOptions database;
    database.url = url;
    CHECK_THROWS_WITH_AS(move_to_file(database, path),
                         "the store has several cells: only one with a single cell fits a file", StoreError);
    CHECK(std::filesystem::is_empty(folder.path()));
}
