#include "core/old_offers.h"

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("A-7: a server owes an answer for a lobby until it has answered or registered anew") {
    OldOffers old;
    old.add(ServerId(1), LobbyId(5));
    old.add(ServerId(1), LobbyId(5));
    old.add(ServerId(2), LobbyId(5));
    old.add(ServerId(1), LobbyId(6));
    CHECK(old.owed_for(LobbyId(5)).size() == 2);
    old.answered(ServerId(1), LobbyId(5));
    old.answered(ServerId(1), LobbyId(404));
    old.answered(ServerId(3), LobbyId(5));
    CHECK(old.owed_for(LobbyId(5)).size() == 1);
    CHECK(old.owed_for(LobbyId(6)).size() == 1);
    old.forget(ServerId(1));
    CHECK(old.owed_for(LobbyId(6)).empty());
    old.forget(ServerId(2));
    CHECK(old.owed_for(LobbyId(5)).empty());
    CHECK(old.size() == 0);
}

TEST_CASE("fault 61: of a server that never answers the latest offers are remembered, and no more") {
    OldOffers old;
    for (std::int32_t lobby = 1; lobby <= 100'000; ++lobby) old.add(ServerId(1), LobbyId(lobby));
    CHECK(old.size() == OldOffers::of_server_max);
    CHECK(old.owed_for(LobbyId(1)).empty());
    CHECK(old.owed_for(LobbyId(100'000)).size() == 1);
}
