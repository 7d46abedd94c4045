#include "store/history.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "store/committer.h"
#include "store/sample_records.h"
#include "store/scratch_directory.h"

using namespace muster;

namespace {

// 2023-11-14T22:13:20.123Z
constexpr UnixMs now{1'700'000'000'123};

struct HistoryFixture {
    ScratchDirectory scratch;
    Committer committer{{.path = scratch.file("muster.db")}};
    Database reader{committer.path(), Database::Access::read_only};

    void commit(std::vector<Record> records, UnixMs at = now) {
        const RecordBatch batch{1, std::move(records)};
        REQUIRE(committer.commit({&batch, 1}, at) == StoreFault::none);
    }
    std::int64_t count(const std::string& table) { return reader.integer("SELECT count(*) FROM " + table); }
    void prune_all(UnixMs since) {
        while (committer.prune_step(since)) {
        }
    }
};

}  // namespace

TEST_CASE_FIXTURE(HistoryFixture, "X-4: the match history tells who ran where and when, without the token") {
    MatchRecord match = sample_match(5, MatchState::ended, now);
    match.reason = "Reported by heartbeat";
    commit({match});
    CHECK(
        reader.text("SELECT lobby || ' ' || matchmaker || ' ' || region || ' ' || server || ' ' || address || ' ' ||"
                    " state || ' ' || reason || ' ' || requested || ' ' || allocated || ' ' || started || ' ' || ended"
                    " FROM match_history WHERE lobby = 5") ==
        "5 chat-1 2 7 10.0.0.7:11235 ended Reported by heartbeat 2023-11-14T22:13:15.123Z "
        "2023-11-14T22:13:16.123Z 2023-11-14T22:13:18.123Z 2023-11-14T22:13:20.123Z");
    CHECK_THROWS_AS(reader.text("SELECT token FROM match_history"), SqliteError);
}

TEST_CASE_FIXTURE(HistoryFixture,
                  "X-4: a match history row has no times that did not happen, and shows IPv6 in brackets") {
    MatchRecord match = sample_match(5, MatchState::offering, now);
    match.server_ip = "2001:db8::7";
    commit({match});
    CHECK(reader.text("SELECT address FROM match_history") == "[2001:db8::7]:11235");
    CHECK(reader.integer("SELECT count(*) FROM match_history WHERE state = 'offering' AND allocated IS NULL"
                         " AND ready IS NULL AND started IS NULL AND ended IS NULL") == 1);
}

TEST_CASE_FIXTURE(HistoryFixture, "X-4: every millisecond shows exactly") {
    std::vector<Record> matches;
    for (std::int32_t ms = 0; ms < 1000; ++ms)
        matches.emplace_back(sample_match(ms + 1, MatchState::ended, UnixMs{1'700'000'000'000 + ms}));
    commit(std::move(matches));
    for (int ms = 0; ms < 1000; ++ms) {
        const std::string shown = reader.text(fmt::format("SELECT ended FROM match_history WHERE lobby = {}", ms + 1));
        if (shown != fmt::format("2023-11-14T22:13:20.{:03}Z", ms)) FAIL(shown);
    }
}

TEST_CASE_FIXTURE(HistoryFixture, "X-4: failed requests stay as history, each of a lobby that is asked again") {
    MatchRecord refused = sample_match(5, MatchState::aborted, now);
    refused.reason = "Server allocation timeout";
    commit({sample_match(5, MatchState::offering, now), MatchForgotten{LobbyId(5)}});
    commit({sample_match(5, MatchState::offering, now), refused, MatchForgotten{LobbyId(5)}});
    commit({sample_match(5, MatchState::allocated, now)});
    CHECK(reader.integer("SELECT count(*) FROM match_history WHERE lobby = 5 AND state = 'failed'"
                         " AND ended = '2023-11-14T22:13:20.123Z'") == 2);
    CHECK(reader.integer("SELECT count(*) FROM match_history WHERE reason = 'Server allocation timeout'") == 1);
    CHECK(reader.integer("SELECT count(*) FROM match_history WHERE lobby = 5 AND state = 'allocated'") == 1);
}

TEST_CASE_FIXTURE(HistoryFixture, "X-4: the server history keeps a removed server, with its matches and its hours") {
    commit({sample_server(7), sample_match(5, MatchState::ended, now), sample_match(6, MatchState::started, now)});
    CHECK(reader.text("SELECT state FROM server_history WHERE server = 7") == "registered");
    commit({ServerRemoved{ServerId(7)}}, UnixMs{now.value + 60'000});
    CHECK(reader.text("SELECT address || ' ' || state || ' ' || matches || ' ' || registered || ' ' || removed"
                      " FROM server_history WHERE server = 7") ==
          "10.0.0.7:11235 removed 2 2023-11-14T21:56:40.007Z 2023-11-14T22:14:20.123Z");
    ServerRecord drained = sample_server(8);
    drained.drained_by_operator = true;
    commit({drained});
    CHECK(reader.text("SELECT state FROM server_history WHERE server = 8") == "draining");
}

TEST_CASE_FIXTURE(HistoryFixture, "X-4: the player history tells where an account was let in, also after the end") {
    commit({AccountRecord{"ann", AccountId(31)}, sample_match(5, MatchState::allocated, now),
            TokenUsed{LobbyId(5), AccountId(31)}, TokenUsed{LobbyId(5), AccountId(32)}});
    commit({sample_match(5, MatchState::ended, now)});
    CHECK(reader.text("SELECT name || ' ' || lobby || ' ' || address || ' ' || let_in || ' ' || state"
                      " FROM player_history WHERE account = 31") ==
          "ann 5 10.0.0.7:11235 2023-11-14T22:13:20.123Z ended");
    CHECK(count("player_history") == 2);
}

TEST_CASE_FIXTURE(HistoryFixture, "X-4: pruning removes the past to its last millisecond, and nothing that is open") {
    const UnixMs since = now;
    const UnixMs before{now.value - 1};
    commit({sample_match(1, MatchState::ended, before), sample_match(2, MatchState::ended, since),
            sample_match(3, MatchState::started, before), sample_event(1, before), sample_event(2, since)});
    commit({sample_match(4, MatchState::offering, before), MatchForgotten{LobbyId(4)}, sample_server(1),
            sample_server(2), ServerRemoved{ServerId(1)}, PlayersRecord{LobbyId(1), "chat-1", {AccountId(9)}},
            PlayersRecord{LobbyId(3), "chat-1", {AccountId(9)}}, PlayersRecord{LobbyId(9), "chat-1", {AccountId(9)}}},
           before);
    commit({sample_match(5, MatchState::offering, now), MatchForgotten{LobbyId(5)}, sample_server(3),
            ServerRemoved{ServerId(3)}});
    prune_all(since);
    CHECK(reader.text("SELECT group_concat(lobby) FROM (SELECT lobby FROM matches ORDER BY lobby)") == "2,3");
    CHECK(reader.text("SELECT first_id || '-' || last_id || ' ' || count FROM event_blocks") == "2-2 1");
    CHECK(reader.text("SELECT group_concat(lobby) FROM failed_requests") == "5");
    CHECK(reader.text("SELECT group_concat(id) FROM (SELECT id FROM servers ORDER BY id)") == "2,3");
    CHECK(reader.text("SELECT group_concat(lobby) FROM player_lists") == "3");
    CHECK(count("match_players") == 1);
}

TEST_CASE_FIXTURE(HistoryFixture, "X-4: one step of pruning is bounded, and token uses go with their match") {
    constexpr std::int32_t matches = 3 * History::rows_per_step_max / 2;
    std::vector<Record> records;
    for (std::int32_t lobby = 1; lobby <= matches; ++lobby) {
        records.emplace_back(sample_match(lobby, MatchState::allocated, now));
        records.emplace_back(TokenUsed{LobbyId(lobby), AccountId(1)});
        records.emplace_back(sample_match(lobby, MatchState::ended, now));
    }
    commit(std::move(records));
    const UnixMs later{now.value + 1};
    CHECK(committer.prune_step(later));
    CHECK(count("matches") == matches - History::rows_per_step_max);
    CHECK(count("token_uses") == matches - History::rows_per_step_max);
    CHECK_FALSE(committer.prune_step(later));
    CHECK(count("matches") == 0);
    CHECK(count("token_uses") == 0);
}

TEST_CASE_FIXTURE(HistoryFixture,
                  "S-7, A-2: the oldest go first when it is too much, but no lobby that is remembered") {
    const auto ago = [](std::int64_t hours) { return UnixMs{now.value - hours * 3'600'000}; };
    for (std::int32_t hours = 40; hours >= 1; --hours)
        commit({sample_match(hours, MatchState::ended, ago(hours)), sample_event(100 - hours, ago(hours))});
    KeptPast kept(ago(1000), ago(10));
    kept.lobbies_least = 20;
    CHECK(committer.prune_oldest(kept, 30) == 30 + 20);
    CHECK(reader.integer("SELECT sum(count) FROM event_blocks") == 10);
    CHECK(reader.integer("SELECT max(lobby) FROM matches") == 20);
    CHECK(committer.prune_oldest(kept, 30) == 10);
    CHECK(committer.prune_oldest(kept, 30) == 0);
    CHECK(count("matches") == 20);
    CHECK(committer.recover(kept).over.size() == 20);
    CHECK(committer.recover(kept).over.front().lobby == LobbyId(20));
    kept.lobbies_most = 3;
    CHECK(committer.recover(kept).over.front().lobby == LobbyId(3));
}
