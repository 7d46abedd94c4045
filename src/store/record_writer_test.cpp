#include "store/record_writer.h"

#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sqlite3.h>

#include "store/sample_records.h"
#include "store/scratch_directory.h"
#include "store/store_file.h"

using namespace muster;

namespace {

// What SQLite ran since it was made.
class StatementsRun {
public:
    explicit StatementsRun(Database& database) : connection_(database.handle()) {
        sqlite3_trace_v2(connection_, SQLITE_TRACE_STMT, &note, &texts_);
    }
    ~StatementsRun() { sqlite3_trace_v2(connection_, 0, nullptr, nullptr); }
    StatementsRun(const StatementsRun&) = delete;
    StatementsRun& operator=(const StatementsRun&) = delete;

    const std::set<std::string>& texts() const { return texts_; }

private:
    static int note(unsigned, void* texts, void* statement, void*) {
        static_cast<std::set<std::string>*>(texts)->insert(sqlite3_sql(static_cast<sqlite3_stmt*>(statement)));
        return 0;
    }

    sqlite3* connection_;
    std::set<std::string> texts_;
};

}  // namespace

TEST_CASE("A-12: on the way of a match no statement makes a table of its own") {
    const ScratchDirectory directory;
    StoreFile file({.path = directory.file("muster.db")});
    Database& database = file.database();
    RecordWriter writer(database);
    std::set<std::string> texts;
    {
        const StatementsRun run(database);
        PlayersRecord players;
        players.lobby = LobbyId(5);
        players.accounts = {AccountId(1), AccountId(2)};
        const std::vector<Record> records{
            sample_match(5, MatchState::offering, sample_now), players,
            sample_match(5, MatchState::ready, sample_now),    TokenUsed{LobbyId(5), AccountId(1)},
            sample_match(5, MatchState::started, sample_now),  sample_event(1, sample_now),
            sample_match(5, MatchState::ended, sample_now),    EventTold{LobbyId(5)},
        };
        for (const Record& record : records) {
            database.run("BEGIN");
            writer.write(record, sample_now);
            writer.finish();
            database.run("COMMIT");
            writer.committed();
        }
        texts = run.texts();
    }
    CHECK(texts.size() > 8);
    for (const std::string& text : texts) {
        INFO(text);
        Statement explained = database.prepare("EXPLAIN " + text);
        while (explained.step()) {
            const std::string step = explained.text(1);
            CHECK(step != "OpenEphemeral");
            CHECK(step != "OpenAutoindex");
            CHECK(step != "SorterOpen");
        }
    }
}

TEST_CASE("X-4: a list that comes again replaces the players of the one before") {
    const ScratchDirectory directory;
    StoreFile file({.path = directory.file("muster.db")});
    RecordWriter writer(file.database());
    file.database().run("BEGIN");
    for (const std::vector<AccountId>& accounts :
         {std::vector{AccountId(1), AccountId(2), AccountId(3)}, {AccountId(4)}}) {
        PlayersRecord players;
        players.lobby = LobbyId(5);
        players.accounts = accounts;
        writer.write(players, sample_now);
    }
    writer.finish();
    file.database().run("COMMIT");
    CHECK(file.database().text("SELECT group_concat(account) FROM match_players WHERE lobby = 5") == "4");
}
