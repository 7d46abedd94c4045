// What one cell writes for another, on a real PostgreSQL.
#include "postgres/pg_news.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include <doctest/doctest.h>

#include "base/system_clock.h"
#include "postgres/cell_owner_fixture.h"
#include "postgres/pg_clock.h"
#include "postgres/pg_outbox.h"
#include "postgres/test_engine.h"
#include "store/sample_records.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

using Kind = PlayerNotice::Kind;

const CellPlans three_cells{{"eu", std::vector<RegionId>{RegionId(2)}, true},
                            {"people", std::vector<RegionId>{}, true},
                            {"us", std::vector<RegionId>{RegionId(0)}, false}};

// The owner of one of the three cells.
struct OwnerOfThree : CellOwner {
    OwnerOfThree(const Clock& clock, const std::string& url, const std::string& cell)
        : CellOwner(clock, url, three_cells, cell) {}
};

std::unique_ptr<PgConnection> connected(const std::string& url) {
    PgOptions options;
    options.url = url;
    return std::make_unique<PgConnection>(options, pg_hosts_of(url).value().front());
}

PlayerNotice ready(std::int32_t lobby) {
    return {LobbyId(lobby), Kind::ready, "10.0.0.1", 7000, "a token", "", {AccountId(1), AccountId(2)}};
}

PlayerNotice fell_through(std::int32_t lobby) {
    return {LobbyId(lobby), Kind::fell_through, "", 0, "", "the server's \"end\"", {AccountId(1)}};
}

std::vector<PlayerNotice> notices_of(const std::vector<CellNews::Notice>& rows) {
    std::vector<PlayerNotice> notices;
    notices.reserve(rows.size());
    for (const CellNews::Notice& row : rows) notices.push_back(row.notice);
    return notices;
}

}  // namespace

TEST_CASE("N-8: a notice is a row for each other cell with players, in its batch, and what was told is gone") {
    if (!TestEngine::is_installed()) return;
    TestEngine engine;
    const std::string url = engine.url("outbox");
    const SystemClock clock;
    OwnerOfThree eu(clock, url, "eu");
    OwnerOfThree us(clock, url, "us");
    const auto reader = connected(url);
    us.write({ready(7), ready(8)});
    eu.write({ready(9)});
    const auto of_people = read_outbox(*reader, "people", {});
    CHECK(notices_of(of_people) == std::vector<PlayerNotice>{ready(9), ready(7), ready(8)});
    CHECK(notices_of(read_outbox(*reader, "eu", {})) == std::vector<PlayerNotice>{ready(7), ready(8)});
    CHECK(read_outbox(*reader, "us", {}).empty());
    // A cell's rows come after those that were taken of it; another cell's numbers say nothing about them.
    NoticesTaken taken{{"us", of_people[1].number}, {"eu", of_people[0].number}};
    CHECK(notices_of(read_outbox(*reader, "people", taken)) == std::vector<PlayerNotice>{ready(8)});
    // A later word does not hide that the match was ready from a cell that has not read that yet.
    us.write({PlayerNotice{LobbyId(7), Kind::begun}, fell_through(8)});
    const auto later = read_outbox(*reader, "people", {{"eu", of_people[0].number}});
    CHECK(notices_of(later) ==
          std::vector<PlayerNotice>{ready(7), ready(8), {LobbyId(7), Kind::begun}, fell_through(8)});
    // One that is ready stays for whoever owns the cell next, until a later word was told.
    OwnerOfThree people(clock, url, "people");
    people.write({NoticeTold{later[0].number}, NoticeTold{later[3].number}, NoticeTold{999'999}});
    CHECK(notices_of(read_outbox(*reader, "people", {})) ==
          std::vector<PlayerNotice>{ready(9), ready(7), {LobbyId(7), Kind::begun}});
    people.write({NoticeTold{later[2].number}});
    CHECK(notices_of(read_outbox(*reader, "people", {})) == std::vector<PlayerNotice>{ready(9)});
    // A later list of a match that is ready voids the earlier one, and stays.
    eu.write({ready(9)});
    const auto lists = read_outbox(*reader, "people", {});
    REQUIRE(lists.size() == 2);
    people.write({NoticeTold{lists[1].number}});
    const auto left = read_outbox(*reader, "people", {});
    REQUIRE(left.size() == 1);
    CHECK(left[0].number == lists[1].number);
    // The other cell's rows are its own.
    CHECK(read_outbox(*reader, "eu", {}).size() == 4);
}

TEST_CASE("N-8, C-3: the clock of several cells goes on while anybody looks, and stands still while nobody does") {
    if (!TestEngine::is_installed()) return;
    TestEngine engine;
    const std::string url = engine.url("clock");
    const SystemClock clock;
    auto eu = std::make_unique<OwnerOfThree>(clock, url, "eu");
    const auto reader = connected(url);
    CHECK_FALSE(read_pg_clock(*reader));
    eu->write({ClockRecord{1'000'000, 60, 1}});
    const auto back = [&](std::int64_t ms) {
        reader->run("UPDATE muster.world_clock SET at_ms = at_ms - $1", PgValues(ms));
    };
    // To a second of real time or two: a look moves the row once a second.
    const auto near = [](std::int64_t shown, std::int64_t wanted) {
        return shown >= wanted - 60 * 1'000 && shown < wanted + 60 * 2'000;
    };
    back(3'000);
    const auto shown = read_pg_clock(*reader);
    REQUIRE(shown);
    CHECK(shown->speed == 60);
    CHECK(near(shown->elapsed_game_ms, 1'000'000 + 60 * 3'000));
    // A look has moved it: ten seconds later it is known that somebody ran.
    back(9'000);
    REQUIRE(eu->store->stop(30s));
    eu = std::make_unique<OwnerOfThree>(clock, url, "eu");
    REQUIRE(eu->recovered.has_clock);
    CHECK(near(eu->recovered.clock.elapsed_game_ms, 1'000'000 + 60 * 12'000));
    const std::int64_t before = read_pg_clock(*reader)->elapsed_game_ms;
    back(3'600'000);
    CHECK(near(read_pg_clock(*reader)->elapsed_game_ms, before));
}

TEST_CASE("N-8, C-3: the last cell that follows the clock leaves it at the time of its end") {
    if (!TestEngine::is_installed()) return;
    TestEngine engine;
    const std::string url = engine.url("clock_end");
    const SystemClock clock;
    OwnerOfThree eu(clock, url, "eu");
    eu.write({ClockRecord{1'000'000, 3600, 1}});
    const auto reader = connected(url);
    const auto elapsed = [&] { return reader->run("SELECT elapsed_game_ms FROM muster.world_clock").integer(0, 0); };
    std::mutex mutex;
    std::condition_variable came;
    int looks = 0;  // guarded by mutex
    PgNewsOptions options;
    options.connection.url = url;
    options.cell = "people";
    std::int64_t before = 0;
    {
        const PgNews news(clock, options, [&](CellNews&&) {
            const std::lock_guard lock(mutex);
            ++looks;
            came.notify_all();
            return true;
        });
        std::unique_lock lock(mutex);
        REQUIRE(came.wait_for(lock, 30s, [&] { return looks > 0; }));
        // Half a second ago: too little for a look to move it.
        reader->run(
            "UPDATE muster.world_clock SET at_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 500");
        before = elapsed();
    }
    CHECK(elapsed() >= before + 3600 * 500);
}

TEST_CASE("N-8, N-11: a cell that follows hears of the clock, of operators and blocks, and of notices, each once") {
    if (!TestEngine::is_installed()) return;
    TestEngine engine;
    const std::string url = engine.url("news");
    const SystemClock clock;
    OwnerOfThree eu(clock, url, "eu");
    OwnerOfThree us(clock, url, "us");
    eu.write(
        {ClockRecord{60'000, 1, 1}, OperatorRecord{"ann", OperatorRole::admin, std::string(64, 'a'), "x", sample_now}});
    std::mutex mutex;
    std::condition_variable came;
    std::vector<CellNews> heard;  // guarded by mutex
    bool refuses = true;          // the same
    PgNewsOptions options;
    options.connection.url = url;
    options.cell = "people";
    PgNews news(clock, options, [&](CellNews&& one) {
        const std::lock_guard lock(mutex);
        if (refuses && one.rules) return false;
        heard.push_back(std::move(one));
        came.notify_all();
        return true;
    });
    const auto until = [&](auto condition) {
        std::unique_lock lock(mutex);
        return came.wait_for(lock, 30s, [&] { return std::ranges::any_of(heard, condition); });
    };
    {
        const std::lock_guard lock(mutex);
        refuses = false;  // what was refused is told again
    }
    CHECK(until([](const CellNews& one) { return one.rules && one.rules->operators.size() == 1; }));
    CHECK(until([](const CellNews& one) { return one.clock && one.clock->shown.elapsed_game_ms >= 60'000; }));
    us.write({ready(7), fell_through(8)});
    CHECK(until([](const CellNews& one) { return one.notices.size() == 2; }));
    eu.write({OperatorRemoved{"ann"}, BlockRecord{BlockKind::name, "bob", "", "x", sample_now, UnixMs{0}}});
    CHECK(until([](const CellNews& one) {
        return one.rules && one.rules->operators.empty() && one.rules->blocks.size() == 1;
    }));
    eu.write({ClockRecord{600'000, 60, 1}});
    CHECK(until([](const CellNews& one) { return one.clock && one.clock->shown.speed == 60; }));
    const std::lock_guard lock(mutex);
    CHECK(std::ranges::count_if(heard, [](const CellNews& one) { return one.rules.has_value(); }) == 2);
    CHECK(std::ranges::count_if(heard, [](const CellNews& one) { return !one.notices.empty(); }) == 1);
}
