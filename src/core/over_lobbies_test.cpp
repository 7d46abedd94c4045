#include "core/over_lobbies.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

namespace {

constexpr OverLobbies::Over ended{ServerId(7), MatchState::ended};

}  // namespace

TEST_CASE("A-2: a lobby that is over is remembered for its time, and the latest in any case") {
    OverLobbies over(OverLobbies::Bounds{.least = 3, .most = 100});
    over.remember_for(24h);
    for (int i = 1; i <= 10; ++i) over.add(LobbyId(i), ended, Time(i * 1s));
    over.forget(Time(24h));
    CHECK(over.size() == 10);
    over.forget(Time(24h + 6s));
    CHECK(over.find(LobbyId(5)) == nullptr);
    REQUIRE(over.find(LobbyId(6)) != nullptr);
    CHECK(over.find(LobbyId(6))->server == ServerId(7));
    over.forget(Time(48h));
    CHECK(over.size() == 3);
    CHECK(over.find(LobbyId(8)) != nullptr);
}

TEST_CASE("A-2: memory is bounded, and leaves as fast as it comes, without anybody asking") {
    OverLobbies over(OverLobbies::Bounds{.least = 10, .most = 1'000});
    over.remember_for(1s);
    for (int i = 1; i <= 100'000; ++i) over.add(LobbyId(i), ended, Time(0s));
    CHECK(over.size() == 1'000);
    for (int i = 200'001; i <= 300'000; ++i) over.add(LobbyId(i), ended, Time(i * 1ms));
    CHECK(over.size() <= 1'000);
    CHECK(over.find(LobbyId(300'000)) != nullptr);
}

TEST_CASE("A-2: a lobby that is over a second time is remembered from then on") {
    OverLobbies over(OverLobbies::Bounds{.least = 0, .most = 100});
    over.remember_for(10s);
    over.add(LobbyId(1), ended, Time(0s));
    over.add(LobbyId(1), {ServerId(8), MatchState::aborted}, Time(8s));
    over.forget(Time(12s));
    REQUIRE(over.find(LobbyId(1)) != nullptr);
    CHECK(over.find(LobbyId(1))->server == ServerId(8));
    over.forget(Time(20s));
    CHECK(over.size() == 0);
}
