#include "store/latest_state.h"

#include <doctest/doctest.h>

#include "store/sample_records.h"

using namespace muster;

namespace {

struct Folding {
    LatestState fold;

    void apply(const Record& record) { fold.apply(record, sample_now); }
    RecoveredState state() const { return fold.recovered(sample_week_ago); }
};

}  // namespace

TEST_CASE_FIXTURE(Folding, "X-4: a server is known from its registration to its removal, by its latest record") {
    apply(sample_server(2));
    apply(sample_server(1));
    ServerRecord drained = sample_server(2);
    drained.drained_by_operator = true;
    apply(drained);
    CHECK(state().servers == std::vector{sample_server(1), drained});
    apply(ServerRemoved{ServerId(1)});
    apply(ServerRemoved{ServerId(99)});
    CHECK(state().servers == std::vector{drained});
}

TEST_CASE_FIXTURE(Folding, "X-4: the latest record of a lobby counts, and of one that is over little is left") {
    apply(sample_match(5, MatchState::offering, sample_now));
    apply(sample_match(5, MatchState::started, sample_now));
    REQUIRE(state().matches == std::vector{sample_match(5, MatchState::started, sample_now)});
    CHECK(state().over.empty());
    apply(sample_match(5, MatchState::ended, sample_now));
    CHECK(state().matches.empty());
    CHECK(state().over == std::vector{LobbyOver{sample_now, LobbyId(5), ServerId(7), MatchState::ended}});
}

TEST_CASE_FIXTURE(Folding, "A-10: a match that is over stays whole until its matchmaker was told") {
    MatchRecord untold = sample_match(5, MatchState::aborted, sample_now);
    untold.untold_event = 4;
    apply(untold);
    CHECK(state().matches == std::vector{untold});
    CHECK(state().over.size() == 1);
    apply(EventTold{LobbyId(5)});
    CHECK(state().matches.empty());
    CHECK(state().over.size() == 1);
}

TEST_CASE_FIXTURE(Folding, "F-6: an abort is owed to its endpoint until that was told") {
    const IpAddress ip = *IpAddress::parse("10.0.0.1");
    const AbortOwed other{ip, 7002, LobbyId(5)};
    for (const std::int32_t lobby : {6, 5, 6}) apply(AbortOwed{ip, 7001, LobbyId(lobby)});
    apply(other);
    CHECK(state().owed_aborts == std::vector{AbortOwed{ip, 7001, LobbyId(5)}, AbortOwed{ip, 7001, LobbyId(6)}, other});
    apply(AbortsTold{ip, 7001});
    CHECK(state().owed_aborts == std::vector{other});
}

TEST_CASE_FIXTURE(Folding, "K-3: the token goes when the match is over, even when the record still names it") {
    MatchRecord careless = sample_match(5, MatchState::ended, sample_now);
    careless.token = "MATCH_5_secret";
    careless.untold_event = 3;
    apply(careless);
    REQUIRE(state().matches.size() == 1);
    CHECK(state().matches[0].token.empty());
}

TEST_CASE_FIXTURE(Folding, "K-3: a token use counts once per account and only while its match lives") {
    apply(TokenUsed{LobbyId(5), AccountId(1)});
    CHECK(state().tokens_used.empty());
    apply(sample_match(5, MatchState::allocated, sample_now));
    apply(TokenUsed{LobbyId(5), AccountId(2)});
    apply(TokenUsed{LobbyId(5), AccountId(1)});
    apply(TokenUsed{LobbyId(5), AccountId(2)});
    CHECK(state().tokens_used == std::vector{TokenUsed{LobbyId(5), AccountId(1)}, TokenUsed{LobbyId(5), AccountId(2)}});
    apply(sample_match(5, MatchState::ended, sample_now));
    CHECK(state().tokens_used.empty());
    apply(sample_match(5, MatchState::offering, sample_now));
    CHECK(state().tokens_used.empty());
}

TEST_CASE_FIXTURE(Folding, "A-8: a forgotten request leaves its lobby as new, with the list of players it was given") {
    const PlayersRecord list{LobbyId(5), "chat-1", {AccountId(3), AccountId(1)}};
    apply(list);
    apply(sample_match(5, MatchState::offering, sample_now));
    apply(MatchForgotten{LobbyId(5)});
    CHECK(state().matches.empty());
    CHECK(state().over.empty());
    CHECK(state().players == std::vector{list});
}

TEST_CASE_FIXTURE(Folding, "X-4: a later list of players replaces the earlier, and the end of the match ends it") {
    apply(PlayersRecord{LobbyId(5), "chat-1", {AccountId(3)}});
    const PlayersRecord nobody{LobbyId(5), "chat-1", {}};
    apply(nobody);
    CHECK(state().players == std::vector{nobody});
    apply(sample_match(5, MatchState::aborted, sample_now));
    CHECK(state().players.empty());
}

TEST_CASE_FIXTURE(Folding, "X-4: a list of players that is forgotten is as if it had never been given") {
    apply(PlayersRecord{LobbyId(5), "chat-1", {AccountId(3)}});
    apply(PlayersForgotten{LobbyId(6)});
    CHECK(state().players.size() == 1);
    apply(PlayersForgotten{LobbyId(5)});
    CHECK(state().players.empty());
}

TEST_CASE_FIXTURE(Folding, "K-3: a token use that is released is as if it had never been, and may come again") {
    apply(sample_match(5, MatchState::allocated, sample_now));
    apply(TokenUsed{LobbyId(5), AccountId(1)});
    apply(TokenUsed{LobbyId(5), AccountId(2)});
    apply(TokenReleased{LobbyId(5), AccountId(1)});
    apply(TokenReleased{LobbyId(6), AccountId(2)});
    CHECK(state().tokens_used == std::vector{TokenUsed{LobbyId(5), AccountId(2)}});
    apply(TokenUsed{LobbyId(5), AccountId(1)});
    CHECK(state().tokens_used == std::vector{TokenUsed{LobbyId(5), AccountId(1)}, TokenUsed{LobbyId(5), AccountId(2)}});
}

TEST_CASE_FIXTURE(Folding, "X-4: reserved numbers never shrink") {
    apply(NumbersReserved{100, 200, 300});
    apply(NumbersReserved{50, 250, 1});
    CHECK(state().numbers == NumbersReserved{100, 250, 300});
}

TEST_CASE_FIXTURE(Folding, "C-3: the latest clock counts") {
    CHECK_FALSE(state().has_clock);
    apply(ClockRecord{60'000, 1});
    apply(ClockRecord{120'000, 60});
    CHECK(state().has_clock);
    CHECK(state().clock == ClockRecord{120'000, 60});
}

TEST_CASE_FIXTURE(Folding, "A-2: what is over is remembered to the last millisecond of the history, and no longer") {
    apply(sample_match(1, MatchState::ended, sample_week_ago));
    apply(sample_match(2, MatchState::ended, UnixMs{sample_week_ago.value - 1}));
    apply(sample_match(3, MatchState::started, UnixMs{sample_week_ago.value - 1}));
    apply(sample_event(1, sample_week_ago));
    apply(sample_event(2, UnixMs{sample_week_ago.value - 1}));
    const std::string before = as_text(state());
    CHECK(state().over == std::vector{LobbyOver{sample_week_ago, LobbyId(1), ServerId(7), MatchState::ended}});
    CHECK(state().matches.size() == 1);
    fold.prune(sample_week_ago);
    CHECK(as_text(state()) == before);
    CHECK(fold.events().size() == 1);
}

TEST_CASE("X-4: a list of players that nobody asked for goes with the history") {
    LatestState fold;
    fold.apply(PlayersRecord{LobbyId(5), "chat-1", {}}, UnixMs{sample_week_ago.value - 1});
    fold.apply(PlayersRecord{LobbyId(6), "chat-1", {}}, UnixMs{sample_week_ago.value - 1});
    fold.apply(sample_match(6, MatchState::started, sample_week_ago), sample_week_ago);
    const auto state = fold.recovered(sample_week_ago);
    REQUIRE(state.players.size() == 1);
    CHECK(state.players[0].lobby == LobbyId(6));
}
