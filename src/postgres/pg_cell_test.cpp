// A cell's row on a real PostgreSQL.
#include "postgres/pg_cell.h"

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "core/cell_plan.h"
#include "postgres/pg_cells.h"
#include "postgres/pg_schema.h"
#include "postgres/test_engine.h"

using namespace muster;

namespace {

std::unique_ptr<PgConnection> connected(const std::string& url) {
    PgOptions options;
    options.url = url;
    std::size_t next = 0;
    return connect_to_any(options, {PgHost{}}, next);
}

// Whether the fence lets a batch without records pass.
bool commits(const PgCell& cell, PgConnection& connection) {
    try {
        cell.send_begin(connection);
        PgCell::send_commit(connection);
        connection.answers();
        return true;
    } catch (const PgError& error) {
        CHECK(PgCell::is_fence(error));
        connection.run("ROLLBACK");
        return false;
    }
}

}  // namespace

TEST_CASE("N-5, fault 82: a batch that arrives after its outcome was settled changes nothing") {
    if (!TestEngine::is_installed()) {
        MESSAGE("PostgreSQL is not installed: nothing was tried");
        return;
    }
    TestEngine engine;
    const std::string url = engine.url("late");
    const auto given_up = connected(url);
    prepare_pg_schema(*given_up);
    plan_pg_cells(*given_up, {CellPlan{}});
    PgCell cell("main", "one", "1");
    REQUIRE(cell.take(*given_up, cell.look(*given_up).mark));
    REQUIRE(cell.catch_up(*given_up));
    REQUIRE(cell.renew(*given_up));
    REQUIRE(commits(cell, *given_up));
    cell.committed();
    const CellMark before = cell.mark();

    // What the first connection still carries was made before this.
    const PgCell late = cell;
    const auto present = connected(url);
    REQUIRE(cell.renew(*present));
    CHECK(cell.settle(*present) == before.batch);
    CHECK_FALSE(commits(late, *given_up));
    CHECK(cell.look(*present).mark == before);

    // The same batch, sent again, is the one that counts; and only once.
    CHECK(commits(cell, *present));
    CHECK(cell.look(*present).mark.batch == before.batch + 1);
    CHECK_FALSE(commits(cell, *present));
}

TEST_CASE("N-9: a connection that the engine has ended is known before anything is sent on it") {
    if (!TestEngine::is_installed()) {
        MESSAGE("PostgreSQL is not installed: nothing was tried");
        return;
    }
    TestEngine engine;
    const auto connection = connected(engine.url("ended"));
    connection->check_open();
    connection->run("SELECT 1");
    connection->check_open();
    engine.crash();
    CHECK_THROWS_AS(connection->check_open(), PgError);
    CHECK_THROWS_AS(connection->check_open(), PgError);
}
