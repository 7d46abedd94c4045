// The store on a real PostgreSQL. Each case has an engine of its own and covers what it can with it: making one takes
// seconds.
#include "postgres/pg_store.h"

#include <atomic>
#include <set>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/random.h"
#include "base/system_clock.h"
#include "postgres/cut_proxy.h"
#include "postgres/pg_schema.h"
#include "postgres/pg_store_fixture.h"
#include "store/hand_clock.h"
#include "store/latest_state.h"
#include "store/sample_records.h"
#include "testing/soon.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

// PostgreSQL keeps no NUL in a text.
Record without_nul(Record record) {
    const auto clean = [](std::string& text) { text = pg_text(text); };
    if (auto* match = std::get_if<MatchRecord>(&record)) {
        for (std::string* text : {&match->matchmaker, &match->reason, &match->server_ip, &match->token}) clean(*text);
    } else if (auto* players = std::get_if<PlayersRecord>(&record)) {
        clean(players->matchmaker);
    } else if (auto* server = std::get_if<ServerRecord>(&record)) {
        clean(server->drain.who);
        clean(server->drain.reason);
        clean(server->name);
    } else if (auto* account = std::get_if<AccountRecord>(&record)) {
        clean(account->name);
    } else if (auto* added = std::get_if<OperatorRecord>(&record)) {
        clean(added->name);
        clean(added->added_by);
    } else if (auto* removed = std::get_if<OperatorRemoved>(&record)) {
        clean(removed->name);
    } else if (auto* block = std::get_if<BlockRecord>(&record)) {
        for (std::string* text : {&block->value, &block->reason, &block->blocked_by}) clean(*text);
    } else if (auto* unblocked = std::get_if<BlockRemoved>(&record)) {
        clean(unblocked->value);
    } else if (auto* host = std::get_if<HostRecord>(&record)) {
        clean(host->name);
        clean(host->version);
    } else if (auto* host_gone = std::get_if<HostForgotten>(&record)) {
        clean(host_gone->name);
    } else if (auto* process = std::get_if<HostProcessRecord>(&record)) {
        for (std::string* text : {&process->host, &process->name, &process->run, &process->exit_reason}) clean(*text);
    } else if (auto* gone = std::get_if<HostProcessForgotten>(&record)) {
        clean(gone->host);
        clean(gone->name);
    }
    return record;
}

// Matches that are played: of most records only the state is new.
std::vector<Record> played(Random& random, std::vector<MatchRecord>& matches, UnixMs now) {
    std::vector<Record> records;
    for (int i = 0; i < 6; ++i) {
        MatchRecord& match = matches[random.below(matches.size())];
        const bool is_new = match.lobby.value == 0 || match.state >= MatchState::ended;
        if (is_new) {
            const auto lobby = static_cast<std::int32_t>(&match - matches.data() + 1);
            match = sample_match(lobby, MatchState::offering, now);
        } else {
            match.state = static_cast<MatchState>(random.between(0, 5));
            if (match.state >= MatchState::ended) {
                match.ended_at = now;
                match.token.clear();
                match.untold_event = random.chance(0.5) ? 3 : 0;
            }
            if (random.chance(0.1)) match.server = ServerId(static_cast<std::int32_t>(random.between(1, 3)));
            match.started_at = UnixMs{random.chance(0.5) ? now.value : 0};
        }
        records.emplace_back(match);
        const AccountId account(static_cast<std::int32_t>(random.between(1, 3)));
        if (random.chance(0.3)) records.emplace_back(TokenUsed{match.lobby, account});
        if (random.chance(0.1)) records.emplace_back(TokenReleased{match.lobby, account});
        if (random.chance(0.1)) records.emplace_back(EventTold{match.lobby});
        if (random.chance(0.1)) {
            records.emplace_back(MatchForgotten{match.lobby});
            match = {};
        }
    }
    return records;
}

}  // namespace

TEST_CASE("X-4, N-6: what PostgreSQL recovers is what the records mean, also after many starts") {
    NEEDS_ENGINE();
    TestEngine engine;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        CAPTURE(seed);
        const std::string url = engine.url(fmt::format("conformance_{}", seed));
        Random random(seed);
        HandClock clock;
        LatestState expected;
        for (int life = 0; life < 3; ++life) {
            TestNode node(clock, url, "one");
            REQUIRE(node.own());
            CHECK(as_text(node.begin()) == as_text(expected.recovered(KeptPast(UnixMs{0}))));
            for (int batch = 0; batch < 25; ++batch) {
                RecordBatch made = random_batch(random, ++node.number, clock.wall());
                for (const Record& record : made.records) expected.apply(without_nul(record), clock.wall());
                REQUIRE(node.store->submit(std::move(made)));
            }
            const bool answered = node.outcomes.wait_for(25);
            const std::string why = node.outcomes.death() ? node.outcomes.death()->what() : "";
            CAPTURE(why);
            REQUIRE(answered);
            CHECK(node.outcomes.good_in_order() == 25);
            CHECK(node.store->stop(30s));
            const auto found = node.store->events_after(0, 10'000);
            std::vector<EventRecord> events;
            for (const auto& [id, event] : expected.events()) events.push_back(event);
            CHECK(found == events);
            auto backwards = node.store->events_before(std::numeric_limits<std::int64_t>::max(), 10'000);
            std::reverse(backwards.begin(), backwards.end());
            CHECK(backwards == events);
        }
    }
}

TEST_CASE("X-4, N-6: matches that are played are recovered as they stand, whatever of them was written before") {
    NEEDS_ENGINE();
    TestEngine engine;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        CAPTURE(seed);
        const std::string url = engine.url(fmt::format("played_{}", seed));
        Random random(seed);
        HandClock clock;
        LatestState expected;
        std::vector<MatchRecord> matches(12);
        for (int life = 0; life < 3; ++life) {
            TestNode node(clock, url, "one");
            REQUIRE(node.own());
            CHECK(as_text(node.begin()) == as_text(expected.recovered(KeptPast(UnixMs{0}))));
            for (int batch = 0; batch < 40; ++batch) {
                const std::vector<Record> records = played(random, matches, clock.wall());
                for (const Record& record : records) expected.apply(record, clock.wall());
                REQUIRE(node.store->submit({++node.number, records, 0}));
                if (random.chance(0.5)) REQUIRE(node.outcomes.wait_for(node.number));
            }
            REQUIRE(node.outcomes.wait_for(40));
            CHECK(node.outcomes.good_in_order() == 40);
            CHECK(node.store->stop(30s));
        }
    }
}

TEST_CASE("N-2, N-3, fault 81: a cell has one owner, and the one that was replaced commits nothing any more") {
    NEEDS_ENGINE();
    TestEngine engine;
    const std::string url = engine.url("fence");
    HandClock clock;
    TestNode one(clock, url, "one", 1h);  // shows itself by its batches alone
    REQUIRE(one.own());
    one.begin();
    CHECK(one.write({sample_server(1)}) == StoreFault::none);

    // While the owner shows itself, nobody else gets it.
    TestNode two(clock, url, "two");
    const auto ownership = two.store->try_to_own();
    CHECK_FALSE(ownership.ours);
    CHECK(ownership.owner == "one");
    for (int i = 0; i < 40; ++i) {
        clock.advance(250ms);
        if (i % 4 == 0) CHECK(one.write({sample_server(2 + i)}) == StoreFault::none);
        CHECK_FALSE(two.own());
    }

    // Silent for five seconds, as far as the other can see.
    bool taken = false;
    for (int i = 0; i < 40 && !taken; ++i) {
        clock.advance(250ms);
        taken = two.own();
    }
    CHECK(taken);
    const RecoveredState state = two.begin();
    CHECK(state.servers.size() == 11);
    CHECK(two.write({sample_server(500)}) == StoreFault::none);

    // The first wakes: not one row of it, and it knows why.
    CHECK(one.store->submit({++one.number, {sample_server(999)}, 0}));
    CHECK(one.outcomes.wait_for_death());
    CHECK(one.outcomes.death()->exit_code == exit_taken_over);
    CHECK(two.store->stop(30s));
    TestNode three(clock, url, "three");
    REQUIRE(three.own());  // handed back: at once
    std::set<std::int32_t> ids;
    for (const ServerRecord& server : three.begin().servers) ids.insert(server.id.value);
    CHECK(ids.contains(500));
    CHECK_FALSE(ids.contains(999));
}

TEST_CASE("N-3, N-6, fault 81: a row that a stopped owner holds locked is freed, and a hand-over needs no silence") {
    NEEDS_ENGINE();
    TestEngine engine;
    const std::string url = engine.url("locked");
    HandClock clock;
    TestNode one(clock, url, "one", 1h);
    REQUIRE(one.own());
    one.begin();
    REQUIRE(one.write({sample_server(1)}) == StoreFault::none);
    // The owner's connection, stopped inside a transaction.
    PgOptions plain;
    plain.url = url;
    PgConnection stopped(plain, pg_hosts_of(url).value().front());
    stopped.run(
        "UPDATE muster.cells SET pid = pg_backend_pid(), pid_started ="
        " (SELECT backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid())");
    stopped.run("BEGIN");
    stopped.run("UPDATE muster.cells SET settled = settled + 1");

    TestNode two(clock, url, "two");
    int tries = 0;
    while (!two.own() && ++tries < 60) clock.advance(250ms);
    CHECK(tries >= 20);  // the silence, and one more for the lock
    CHECK(tries < 60);
    CHECK_THROWS_AS(stopped.run("COMMIT"), PgError);
    CHECK(two.begin().servers.size() == 1);

    two.store->set_successor("three");
    CHECK(two.store->stop(30s));
    TestNode other(clock, url, "other");
    CHECK_FALSE(other.own());  // not the one it was handed to
    TestNode three(clock, url, "three");
    CHECK(three.own());
}

TEST_CASE("N-5, fault 82: a connection that breaks anywhere in a transaction leaves no doubt about what was kept") {
    NEEDS_ENGINE();
    TestEngine engine;
    const std::string url = engine.url("cuts");
    const ScratchDirectory folder;
    CutProxy proxy(folder.path().string(), engine.socket_path());
    const SystemClock clock;
    TestNode node(clock, engine.url_at(folder.path().string(), "cuts"), "one");
    REQUIRE(soon([&] { return node.own(); }));
    node.begin();
    REQUIRE(node.write({sample_server(1)}) == StoreFault::none);

    std::set<std::int32_t> kept{1};
    std::set<std::int32_t> refused;
    int applied_without_answer = 0;
    std::int32_t id = 1;
    for (const auto way : {CutProxy::Way::to_engine, CutProxy::Way::to_client}) {
        // One batch takes so many bytes this way.
        const std::size_t before = proxy.passed(way);
        REQUIRE(node.write({sample_server(++id)}) == StoreFault::none);
        kept.insert(id);
        const std::size_t whole = proxy.passed(way) - before;
        const std::size_t step = std::getenv("MUSTER_TEST_LONG") ? 1 : whole / 12 + 1;
        for (std::size_t bytes = 0; bytes < whole; bytes += step) {
            proxy.cut_after(way, bytes);
            const StoreFault fault = node.write({sample_server(++id)});
            if (fault == StoreFault::none) {
                kept.insert(id);
                if (proxy.has_cut()) ++applied_without_answer;
            } else {
                CHECK(fault == StoreFault::transient);
                refused.insert(id);
                // It comes back by itself.
                while (node.write({sample_server(1)}) != StoreFault::none) std::this_thread::sleep_for(20ms);
            }
        }
    }
    CHECK(node.store->stop(30s));
    CHECK(refused.size() > 3);
    CHECK(applied_without_answer > 0);

    TestNode next(clock, url, "two");
    REQUIRE(soon([&] { return next.own(); }));
    std::set<std::int32_t> found;
    for (const ServerRecord& server : next.store->recover().servers) found.insert(server.id.value);
    CHECK(found == kept);
}

TEST_CASE("N-7, fault 86: a store keeps the cells it was made with, and refuses a node that plans others") {
    NEEDS_ENGINE();
    TestEngine engine;
    const SystemClock clock;
    const auto ends_with = [&](const std::string& url, const CellPlans& cells) {
        PgStoreOptions options = options_for(url, "one");
        options.cell = cells.front().name;
        options.cells = cells;
        return exit_of([&] { PgStore(clock, options); });
    };
    const std::vector<RegionId> some{RegionId(2), RegionId(9)};
    const std::string planned = engine.url("planned");
    const CellPlans two{{"eu", some, false}, {"people", std::vector<RegionId>(), true}};
    CHECK(ends_with(planned, two) == 0);
    CHECK(ends_with(planned, two) == 0);
    CHECK(ends_with(planned, {CellPlan{}}) == exit_config);
    CHECK(ends_with(planned, {two[0]}) == exit_config);
    CHECK(ends_with(planned, {{"eu", some, true}, two[1]}) == exit_config);
    CHECK(ends_with(planned, {{"eu", std::vector<RegionId>{RegionId(2)}, false}, two[1]}) == exit_config);
    CHECK(ends_with(planned, two) == 0);
    // A cell that an older version made has everything.
    const std::string older = engine.url("older");
    CHECK(ends_with(older, {CellPlan{}}) == 0);
    PgOptions plain;
    plain.url = older;
    PgConnection(plain, pg_hosts_of(older).value().front())
        .run_script(
            "DROP TABLE muster.outbox, muster.shared_changes;"
            "ALTER TABLE muster.world_clock DROP COLUMN configured_speed, DROP COLUMN at_ms;"
            "ALTER TABLE muster.accounts DROP COLUMN cell;"
            "DROP TABLE muster.host_processes, muster.hosts;"
            "ALTER TABLE muster.cells DROP COLUMN regions, DROP COLUMN players;"
            "UPDATE muster.version SET version = 4");
    CHECK(ends_with(older, {{"main", some, true}}) == exit_config);
    CHECK(ends_with(older, {CellPlan{}}) == 0);
}

TEST_CASE("N-3, N-5, fault 82: neither a term nor a batch counts whose commit no standby has confirmed") {
    NEEDS_ENGINE();
    TestEngine engine;
    const std::string url = engine.url("unconfirmed");
    HandClock clock;
    PgOptions plain;
    plain.url = url;
    PgConnection operators(plain, pg_hosts_of(url).value().front());
    const auto end_wait = [&] {
        while (
            operators.run("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").empty())
            std::this_thread::sleep_for(5ms);
    };
    // Each process of the engine learns of it when it comes to it; afterwards every commit waits for that standby.
    PgConnection another(plain, pg_hosts_of(url).value().front());
    const auto demand_standby = [&](const std::string& name) {
        operators.run(("ALTER SYSTEM SET synchronous_standby_names = '" + name + "'").c_str());
        operators.run("SELECT pg_reload_conf()");
        for (bool has_waited = name.empty(); !has_waited;) {
            std::atomic<bool> is_over{false};
            std::thread commit([&] {
                another.run("SELECT pg_logical_emit_message(true, 'test', 'does this wait?')");
                is_over = true;
            });
            while (!is_over) {
                operators.run(
                    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND pid = $1",
                    PgValues(another.backend_pid()));
                std::this_thread::sleep_for(5ms);
            }
            commit.join();
            has_waited = another.take_warning();
        }
    };
    TestNode one(clock, url, "one", 1h);
    REQUIRE_FALSE(one.store->try_to_own().engine.size() > 0);  // the row is there
    TestNode two(clock, url, "two", 1h);
    int tries = 0;
    demand_standby("nobody");
    bool is_ours = true;
    std::thread taking([&] {
        while (!two.own() && ++tries <= 21) clock.advance(250ms);
        is_ours = tries <= 21;
    });
    end_wait();
    taking.join();
    CHECK_FALSE(is_ours);

    demand_standby("");
    while (!two.own()) clock.advance(250ms);
    two.begin();
    REQUIRE(two.write({sample_server(1)}) == StoreFault::none);
    demand_standby("nobody");
    REQUIRE(two.store->submit({++two.number, {sample_server(2)}, 0}));
    end_wait();  // the batch
    end_wait();  // what is to settle it
    CHECK(two.outcomes.all().size() == 1);
    demand_standby("");
    REQUIRE(two.outcomes.wait_for(2));
    CHECK(two.outcomes.last().fault == StoreFault::none);
    CHECK(two.store->stop(30s));
}
