// Rows of matches on a real PostgreSQL.
#include "postgres/pg_matches.h"

#include <string>

#include <doctest/doctest.h>

#include "postgres/pg_schema.h"
#include "postgres/pg_writer.h"
#include "postgres/test_engine.h"
#include "store/sample_records.h"

using namespace muster;

namespace {

constexpr UnixMs played_at{1'700'000'000'000};

struct Rows {
    Rows() {
        PgOptions options;
        options.url = engine.url();
        std::size_t next = 0;
        connection = connect_to_any(options, {PgHost{}}, next);
        prepare_pg_schema(*connection);
        PgWriter::prepare(*connection);
    }

    // One transaction. How many rows were changed in their pages, without a change of any index.
    std::int64_t write(PgMatches& matches, const std::vector<MatchRecord>& records) {
        connection->run("BEGIN");
        const std::int64_t before = changed_in_place();
        matches.begin();
        for (const MatchRecord& record : records) matches.collect(record);
        matches.send(*connection);
        try {
            connection->answers([&](std::size_t place, const PgRows& rows) { matches.answered(place, rows); });
        } catch (const PgError& error) {
            CHECK(PgMatches::is_row_missing(error));
            connection->run("ROLLBACK");
            matches.rolled_back();
            matches.forget_rows();
            throw;
        }
        const std::int64_t changed = changed_in_place() - before;
        connection->run("COMMIT");
        matches.committed();
        return changed;
    }

    // By this connection, since some time that does not lie inside a transaction.
    std::int64_t changed_in_place() {
        return connection->run("SELECT pg_stat_get_xact_tuples_hot_updated('muster.matches'::regclass)").integer(0, 0);
    }

    std::string row(std::int32_t lobby) {
        const PgRows found = connection->run(
            "SELECT concat_ws(' ', cell, state, server, token <> '', started_at > 0, ended_at > 0, untold_event)"
            " FROM muster.matches WHERE lobby = $1",
            PgValues(lobby));
        return found.empty() ? "" : std::string(found.text(0, 0));
    }

    TestEngine engine;
    std::unique_ptr<PgConnection> connection;
};

MatchRecord at_state(MatchState state, std::int32_t server = 7, std::int32_t lobby = 5) {
    MatchRecord match = sample_match(lobby, state, played_at);
    match.server = ServerId(server);
    if (state >= MatchState::ended) match.untold_event = 3;
    return match;
}

}  // namespace

TEST_CASE(
    "A-12, N-8: a match's row changes in place while it is played, and is written whole when it may not be there") {
    if (!TestEngine::is_installed()) {
        MESSAGE("PostgreSQL is not installed: nothing was tried");
        return;
    }
    Rows rows;
    PgMatches ours("main");
    CHECK(rows.write(ours, {at_state(MatchState::offering)}) == 0);
    CHECK(rows.row(5) == "main 0 7 t f f 0");
    CHECK(rows.write(ours, {at_state(MatchState::allocated)}) == 1);
    CHECK(rows.write(ours, {at_state(MatchState::started)}) == 1);
    CHECK(rows.row(5) == "main 3 7 t t f 0");
    // What usually stays has changed.
    CHECK(rows.write(ours, {at_state(MatchState::allocated, 8)}) == 1);
    CHECK(rows.row(5) == "main 1 8 t f f 0");
    // The end is another index's, and takes the token along.
    CHECK(rows.write(ours, {at_state(MatchState::ended, 8)}) == 0);
    CHECK(rows.row(5) == "main 4 8 f t t 3");
    // The lobby again, by one that knows nothing of it.
    PgMatches later("main");
    CHECK(rows.write(later, {at_state(MatchState::offering, 9)}) == 0);
    CHECK(rows.row(5) == "main 0 9 t f f 0");

    // One that knows a row which somebody has deleted changes nothing, and then writes all of it.
    rows.connection->run("DELETE FROM muster.matches");
    CHECK_THROWS_AS(rows.write(later, {at_state(MatchState::allocated, 9), at_state(MatchState::offering, 9, 6)}),
                    PgError);
    CHECK(rows.row(6).empty());
    CHECK(rows.write(later, {at_state(MatchState::allocated, 9), at_state(MatchState::offering, 9, 6)}) == 0);
    CHECK(rows.row(5) == "main 1 9 t f f 0");
    CHECK(rows.row(6) == "main 0 9 t f f 0");

    // Another cell's is not changed, however often it is tried.
    PgMatches others("other");
    for (const MatchState state : {MatchState::offering, MatchState::allocated, MatchState::ended}) {
        rows.write(others, {at_state(state, 4), at_state(state, 4, 8)});
        CHECK(others.of_others() == std::set<LobbyId>{LobbyId(5)});
    }
    CHECK(rows.row(5) == "main 1 9 t f f 0");
    CHECK(rows.row(8) == "other 4 4 f t t 3");
}
