#include "http/over_matches.h"

#include <doctest/doctest.h>

using namespace muster;

namespace {

MatchRecord record(std::int32_t lobby, MatchState state) {
    MatchRecord made;
    made.lobby = LobbyId(lobby);
    made.state = state;
    made.reason = "why";
    made.token = "MATCH_secret";
    return made;
}

}  // namespace

TEST_CASE("O-2: matches that were over lately are kept with the tokens they used, by ascending lobby") {
    OverMatches over;
    over.note(record(9, MatchState::allocated));
    CHECK(over.all().empty());
    over.note(TokenUsed{LobbyId(9), AccountId(1)});
    over.note(TokenUsed{LobbyId(9), AccountId(2)});
    over.note(record(9, MatchState::ended));
    over.note(record(3, MatchState::aborted));
    REQUIRE(over.all().size() == 2);
    CHECK(over.all()[0]->lobby == LobbyId(3));
    CHECK(over.all()[0]->reason == "why");
    CHECK(over.all()[0]->tokens_used == 0);
    CHECK(over.find(LobbyId(9))->tokens_used == 2);
    CHECK(over.find(LobbyId(9))->state == MatchState::ended);
    CHECK(over.find(LobbyId(4)) == nullptr);
}

TEST_CASE("K-2: a token use counts once per account, and not at all when it was released") {
    OverMatches over;
    over.note(record(9, MatchState::allocated));
    over.note(TokenUsed{LobbyId(9), AccountId(1)});
    over.note(TokenUsed{LobbyId(9), AccountId(1)});
    over.note(TokenUsed{LobbyId(9), AccountId(2)});
    over.note(TokenReleased{LobbyId(9), AccountId(2)});
    over.note(TokenReleased{LobbyId(9), AccountId(3)});  // its use failed, so that only its release was written
    over.note(record(9, MatchState::ended));
    CHECK(over.find(LobbyId(9))->tokens_used == 1);
}

TEST_CASE("O-2: an end that is written twice is kept once, and the oldest make room") {
    OverMatches over;
    for (int i = 1; i <= static_cast<int>(OverMatches::capacity) + 1; ++i) {
        over.note(record(i, MatchState::ended));
        over.note(record(i, MatchState::ended));
    }
    CHECK(over.all().size() == OverMatches::capacity);
    CHECK(over.find(LobbyId(1)) == nullptr);
    CHECK(over.find(LobbyId(2)) != nullptr);
}

TEST_CASE("O-2: who was let in to a match is known while it runs and after, and a player's match while it runs") {
    OverMatches over;
    over.note(record(9, MatchState::started));
    over.note(TokenUsed{LobbyId(9), AccountId(2)}, UnixMs{70});
    over.note(TokenUsed{LobbyId(9), AccountId(1)}, UnixMs{80});
    REQUIRE(over.joined(LobbyId(9)).size() == 2);
    CHECK(over.joined(LobbyId(9))[0].account == AccountId(2));
    CHECK(over.joined(LobbyId(9))[0].at == UnixMs{70});
    CHECK(over.lobby_of(AccountId(1)) == LobbyId(9));
    // It plays the next one already when the first is over.
    over.note(TokenUsed{LobbyId(10), AccountId(1)}, UnixMs{90});
    over.note(record(9, MatchState::ended));
    CHECK(over.joined(LobbyId(9)).size() == 2);
    CHECK(over.lobby_of(AccountId(1)) == LobbyId(10));
    CHECK(over.lobby_of(AccountId(2)) == LobbyId());
    over.note(TokenReleased{LobbyId(10), AccountId(1)});
    CHECK(over.lobby_of(AccountId(1)) == LobbyId());
    CHECK(over.joined(LobbyId(10)).empty());
}
