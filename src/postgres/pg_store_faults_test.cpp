// What the store does when the engine is away, unsafe, not ours, or has lost a table.
#include <thread>

#include <doctest/doctest.h>

#include "base/system_clock.h"
#include "postgres/pg_store_fixture.h"
#include "store/sample_records.h"
#include "testing/soon.h"

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("N-9: a table that is taken away and put back ends no node") {
    NEEDS_ENGINE();
    TestEngine engine;
    const std::string url = engine.url("renamed");
    const SystemClock clock;
    TestNode node(clock, url, "one");
    REQUIRE(soon([&] { return node.own(); }));
    node.begin();
    REQUIRE(node.write({sample_server(1)}) == StoreFault::none);
    PgOptions plain;
    plain.url = url;
    PgConnection operators(plain, pg_hosts_of(url).value().front());
    operators.run("ALTER TABLE muster.servers RENAME TO taken_away");
    CHECK(node.write({sample_server(2)}) == StoreFault::refused);
    CHECK(node.write({sample_server(2)}) == StoreFault::refused);
    operators.run("ALTER TABLE muster.taken_away RENAME TO servers");
    CHECK(soon([&] { return node.write({sample_server(3)}) == StoreFault::none; }));
    CHECK(node.store->figures().faults_refused >= 2);
    CHECK(node.store->stop(30s));
}

TEST_CASE("N-9, N-10, fault 83: an engine that is away, unsafe or not ours is told by name, and heals by itself") {
    NEEDS_ENGINE();
    TestEngine engine;
    const std::string url = engine.url("healing");
    const SystemClock clock;
    {
        TestNode node(clock, url, "one");
        CHECK(node.store->warnings().size() == 1);  // no synchronous standby
        REQUIRE(soon([&] { return node.own(); }));
        node.begin();
        REQUIRE(node.write({sample_server(1)}) == StoreFault::none);
        engine.crash();
        CHECK(node.write({sample_server(2)}) == StoreFault::transient);
        CHECK(node.write({sample_server(3)}) == StoreFault::transient);
        engine.start();
        StoreFault fault = StoreFault::transient;
        for (int i = 0; i < 200 && fault != StoreFault::none; ++i) {
            fault = node.write({sample_server(4)});
            std::this_thread::sleep_for(50ms);
        }
        CHECK(fault == StoreFault::none);
        CHECK(node.store->stop(30s));
    }
    TestNode again(clock, url, "one");
    REQUIRE(again.own());
    CHECK(again.store->recover().servers.size() == 2);

    CHECK(exit_of([&] { PgStore(clock, options_for("postgresql://127.0.0.1:1/none", "x")); }) == exit_io);
    CHECK(exit_of([&] { PgStore(clock, options_for("nonsense", "x")); }) == exit_config);
    PgOptions plain;
    plain.url = engine.url("strange");
    PgConnection foreign(plain, pg_hosts_of(plain.url).value().front());
    foreign.run_script("CREATE SCHEMA muster; CREATE TABLE muster.other (x integer)");
    CHECK(exit_of([&] { PgStore(clock, options_for(plain.url, "x")); }) == exit_damaged);
    foreign.run_script(
        "DROP TABLE muster.other; CREATE TABLE muster.version (one integer, version integer);"
        "INSERT INTO muster.version VALUES (1, 999)");
    CHECK(exit_of([&] { PgStore(clock, options_for(plain.url, "x")); }) == exit_damaged);
    engine.crash();
    engine.start("-c fsync=off");
    CHECK(exit_of([&] { PgStore(clock, options_for(url, "x")); }) == exit_config);
}
