#include "store/migrations.h"

#include <array>
#include <fstream>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "base/packed_fields.h"
#include "store/committer.h"
#include "store/event_reader.h"
#include "store/sample_records.h"
#include "store/scratch_directory.h"
#include "store/store_fault.h"

using namespace muster;

namespace {

// The tables of a version-1 file as first released, filled by hand. This text never changes: it stands for the files
// out there.
constexpr const char* version_1_file = R"sql(
CREATE TABLE servers (
    id INTEGER PRIMARY KEY,
    ip TEXT NOT NULL,
    port INTEGER NOT NULL,
    region INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    max_matches INTEGER NOT NULL,
    drained_by_server INTEGER NOT NULL,
    drained_by_operator INTEGER NOT NULL,
    registered_at INTEGER NOT NULL,
    removed_at INTEGER
) STRICT;
CREATE INDEX servers_registered ON servers (id) WHERE removed_at IS NULL;
CREATE INDEX servers_removed ON servers (removed_at) WHERE removed_at IS NOT NULL;

CREATE TABLE matches (
    lobby INTEGER PRIMARY KEY,
    chat_server TEXT NOT NULL,
    region INTEGER NOT NULL,
    game_type INTEGER NOT NULL,
    game_mode INTEGER NOT NULL,
    player_count INTEGER NOT NULL,
    average_rating INTEGER NOT NULL,
    state INTEGER NOT NULL,
    reason TEXT NOT NULL,
    server INTEGER NOT NULL,
    server_epoch INTEGER NOT NULL,
    server_ip TEXT NOT NULL,
    server_port INTEGER NOT NULL,
    token TEXT NOT NULL,
    requested_at INTEGER,
    allocated_at INTEGER,
    ready_at INTEGER,
    started_at INTEGER,
    ended_at INTEGER,
    untold_event INTEGER NOT NULL
) STRICT;
CREATE INDEX matches_open ON matches (lobby) WHERE state < 4 OR untold_event <> 0;
CREATE INDEX matches_over ON matches (ended_at) WHERE state >= 4;

CREATE TABLE failed_requests (
    id INTEGER PRIMARY KEY,
    lobby INTEGER NOT NULL,
    chat_server TEXT NOT NULL,
    region INTEGER NOT NULL,
    game_type INTEGER NOT NULL,
    game_mode INTEGER NOT NULL,
    player_count INTEGER NOT NULL,
    average_rating INTEGER NOT NULL,
    reason TEXT NOT NULL,
    server INTEGER NOT NULL,
    server_ip TEXT NOT NULL,
    server_port INTEGER NOT NULL,
    requested_at INTEGER,
    failed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX failed_requests_failed ON failed_requests (failed_at);

CREATE TABLE player_lists (
    lobby INTEGER PRIMARY KEY,
    chat_server TEXT NOT NULL,
    given_at INTEGER NOT NULL,
    over INTEGER NOT NULL
) STRICT;
CREATE INDEX player_lists_open ON player_lists (lobby) WHERE over = 0;
CREATE INDEX player_lists_given ON player_lists (given_at);

CREATE TABLE match_players (
    lobby INTEGER NOT NULL REFERENCES player_lists (lobby) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    account INTEGER NOT NULL,
    PRIMARY KEY (lobby, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE token_uses (
    lobby INTEGER NOT NULL REFERENCES matches (lobby) ON DELETE CASCADE,
    account INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    PRIMARY KEY (lobby, account)
) STRICT, WITHOUT ROWID;

CREATE TABLE accounts (
    name TEXT PRIMARY KEY,
    account INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    type TEXT NOT NULL,
    fields TEXT NOT NULL
) STRICT;
CREATE INDEX events_time ON events (time);

CREATE TABLE numbers_reserved (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    server_ids_below INTEGER NOT NULL,
    epochs_below INTEGER NOT NULL,
    event_ids_below INTEGER NOT NULL
) STRICT;

CREATE TABLE world_clock (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    elapsed_game_ms INTEGER NOT NULL,
    speed INTEGER NOT NULL
) STRICT;
PRAGMA application_id = 1297306706;
PRAGMA user_version = 1;
INSERT INTO servers VALUES (7, '10.0.0.7', 11235, 2, 70, 50, 0, 1, 1699999000007, NULL);
INSERT INTO servers VALUES (8, '10.0.0.8', 11235, 2, 71, 50, 0, 0, 1699999000008, 1699999900000);
INSERT INTO matches VALUES (5, 'chat-1', 2, 3, 6, 10, 1500, 1, '', 7, 70, '10.0.0.7', 11235, 'MATCH_5_x_1',
                            1699999995000, 1699999996000, NULL, NULL, NULL, 0);
INSERT INTO matches VALUES (6, 'chat-1', 2, 3, 6, 10, 1500, 4, '', 7, 70, '10.0.0.7', 11235, '',
                            1699999995000, 1699999996000, NULL, NULL, 1699999999000, 0);
INSERT INTO token_uses VALUES (5, 31, 1699999997000);
INSERT INTO player_lists VALUES (5, 'chat-1', 1699999994000, 0);
INSERT INTO match_players VALUES (5, 1, 32), (5, 2, 31);
INSERT INTO accounts VALUES ('ann', 31);
INSERT INTO events VALUES (1, 1699999996000, 'match.allocated', '{"lobby_id":5}');
INSERT INTO numbers_reserved VALUES (1, 1000, 2000, 3000);
INSERT INTO world_clock VALUES (1, 60000, 60);
)sql";

constexpr const char* version_1_state =
    "numbers 1000 2000 3000\n"
    "server 7 10.0.0.7:11235 region 2 epoch 70 max 50 drained false true at 1699999000007\n"
    "match 5 matchmaker \"chat-1\" region 2 type 3 mode 6 players 10 rating 1500 state 1 reason \"\" server 7 epoch 70 "
    "10.0.0.7:11235 token \"MATCH_5_x_1\" at 1699999995000 1699999996000 0 0 0 untold 0\n"
    "use 5 31\n"
    "players 5 matchmaker \"chat-1\": 32 31\n"
    "account 31 \"ann\"\n"
    "over 6 1699999999000 server 7 state 4\n"
    "clock 60000 60 0\n";

struct MigrationFixture {
    ScratchDirectory scratch;
    std::string path = scratch.file("muster.db");

    MigrationFixture() {
        std::ofstream(path).flush();
        Database(path, Database::Access::read_write).run(version_1_file);
    }
    std::int64_t version() { return Database(path, Database::Access::read_only).integer("PRAGMA user_version"); }
};

}  // namespace

TEST_CASE_FIXTURE(MigrationFixture, "X-4: a version-1 file opens and everything in it is found") {
    Committer committer({.path = path});
    CHECK(as_text(committer.recover(UnixMs{0})) == version_1_state);
    CHECK(version() == static_cast<std::int64_t>(muster_migrations().size()));
}

TEST_CASE_FIXTURE(MigrationFixture, "X-4, B-3: the events of an old file are found, and go by age as they did") {
    constexpr int many = 50'000;
    {
        Database old(path, Database::Access::read_write);
        old.run(
            "INSERT INTO events VALUES (2, 1699999997000, 'player.closed',"
            " '{\"player_id\":31,\"name\":\"\\u003cann\\u003e \\\"\",\"session_seconds\":1.5,\"a\":true,\"b\":null}');"
            "INSERT INTO events VALUES (3, 1699999997001, 'x', 'no JSON at all');"
            "INSERT INTO events VALUES (4, 1699999997002, 'x', '{}')");
        old.run(fmt::format(
            "WITH RECURSIVE n(i) AS (SELECT 5 UNION ALL SELECT i + 1 FROM n WHERE i < {}) INSERT INTO events"
            " SELECT i, 1700000000000 + i, 'match.ready', '{{\"lobby_id\":' || i || '}}' FROM n",
            many));
    }
    Committer committer({.path = path});
    EventReader reader(path, {});
    const auto all = [&] { return reader.find({EventSearch::Towards::newer, 0, 2 * many}).events; };
    const auto events = all();
    REQUIRE(events.size() == many);
    CHECK(packed_to_json(events[0].fields) == "{\"lobby_id\":5}");
    CHECK(packed_to_json(events[1].fields) ==
          "{\"player_id\":31,\"name\":\"\\u003cann\\u003e \\\"\",\"session_seconds\":1.5,\"a\":true,\"b\":null}");
    CHECK(packed_to_json(events[2].fields) == "{}");
    CHECK(events[1].time == UnixMs{1699999997000});
    CHECK(events[1].type == "player.closed");
    CHECK(events.back().id == many);
    CHECK(reader.find({EventSearch::Towards::newer, 0, 2, {.lobby = 777}}).events.at(0).id == 777);
    while (committer.prune_step(UnixMs{1700000000000 + 1000})) {
    }
    CHECK(all().front().id == 1000);
    Database file(path, Database::Access::read_only);
    CHECK(file.integer("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'events%'") == 0);
}

TEST_CASE_FIXTURE(MigrationFixture,
                  "X-4: a later step is taken once, keeps what is there, and bars the older program") {
    const Migrations today = muster_migrations();
    std::vector<std::string> later(today.begin(), today.end());
    later.emplace_back("ALTER TABLE servers ADD COLUMN note TEXT; UPDATE servers SET note = 'moved';");
    const auto latest = static_cast<std::int64_t>(later.size());
    for (int start = 0; start < 2; ++start) {
        Committer committer({.path = path, .migrations = later});
        CHECK(as_text(committer.recover(UnixMs{0})) == version_1_state);
    }
    CHECK(version() == latest);
    CHECK(Database(path, Database::Access::read_only).text("SELECT note FROM servers WHERE id = 7") == "moved");

    const std::string fault = fmt::format(
        "{} was written by a newer version of Muster (format {}, this one knows up to {})", path, latest, today.size());
    CHECK_THROWS_WITH_AS(Committer({.path = path}), fault.c_str(), StoreError);
    CHECK(version() == latest);
}

TEST_CASE_FIXTURE(MigrationFixture, "X-4: a step that fails leaves the file in its old version, whole") {
    const std::array<std::string, 2> broken{
        muster_migrations()[0], "ALTER TABLE servers ADD COLUMN note TEXT; INSERT INTO no_such_table VALUES (1);"};
    CHECK_THROWS_AS(Committer({.path = path, .migrations = broken}), StoreError);
    CHECK(version() == 1);
    Committer committer({.path = path});
    CHECK(as_text(committer.recover(UnixMs{0})) == version_1_state);
}

TEST_CASE("X-4: the steps alone lead from nothing to today's version") {
    const ScratchDirectory scratch;
    std::ofstream(scratch.file("new.db")).flush();
    Database database(scratch.file("new.db"), Database::Access::read_write);
    migrate(database, muster_migrations());
    CHECK(database.integer("PRAGMA user_version") == static_cast<std::int64_t>(muster_migrations().size()));
    CHECK(database.text("PRAGMA integrity_check") == "ok");
}
