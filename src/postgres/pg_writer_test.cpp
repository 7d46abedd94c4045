// The statements of the writer on a real PostgreSQL.
#include "postgres/pg_writer.h"

#include <string>

#include <doctest/doctest.h>

#include "postgres/pg_schema.h"
#include "postgres/test_engine.h"

using namespace muster;

namespace {

std::string plan_of(PgConnection& connection, const std::string& call) {
    const PgRows rows = connection.run(("EXPLAIN EXECUTE " + call).c_str());
    std::string plan;
    for (std::size_t row = 0; row < rows.size(); ++row) plan += std::string(rows.text(row, 0)) + "\n";
    return plan;
}

}  // namespace

TEST_CASE("A-12, N-2: what is written with a match is found by its key, also when the plan is made for empty tables") {
    if (!TestEngine::is_installed()) {
        MESSAGE("PostgreSQL is not installed: nothing was tried");
        return;
    }
    TestEngine engine;
    PgOptions options;
    options.url = engine.url();
    std::size_t next = 0;
    const auto connection = connect_to_any(options, {PgHost{}}, next);
    prepare_pg_schema(*connection);
    PgWriter::prepare(*connection);
    for (const char* call :
         {"drop_old_uses('main', '{1,2}')", "drop_lists('main', '{1,2}')", "drop_uses('main', '{1}', '{1}')",
          "put_uses('main', '{1}', '{1}', '{1}')", "end_events('main', '{1,2}')",
          "change_matches('main', '{1}', '{1}', '{a}', '{1}', '{1}', '{1}', '{1}', '{0}')",
          "drop_matches('main', '{1,2}')"}) {
        const std::string plan = plan_of(*connection, call);
        CAPTURE(call);
        CAPTURE(plan);
        CHECK(plan.find("Seq Scan") == std::string::npos);
        CHECK(plan.find("matches_over") == std::string::npos);
        CHECK(plan.find("Index Cond: (lobby") != std::string::npos);
    }
}
