#include "core/match_table.h"

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("A-5: the table knows which server has which match, offered or held, oldest first") {
    MatchTable table;
    for (const std::int32_t lobby : {3, 1, 2}) {
        Match& match = table.add(LobbyId(lobby));
        match.record.server = ServerId(7);
        match.record.allocated_at = UnixMs{10 - lobby};
        table.offered(match);
    }
    CHECK(table.offered_on(ServerId(7)) == std::vector{LobbyId(3), LobbyId(1), LobbyId(2)});
    for (const std::int32_t lobby : {1, 2, 3}) {
        table.offer_over(*table.find(LobbyId(lobby)));
        table.held(*table.find(LobbyId(lobby)));
    }
    CHECK(table.offered_on(ServerId(7)).empty());
    CHECK(table.held_on(ServerId(7)) == std::vector{LobbyId(1), LobbyId(2), LobbyId(3)});
    table.sort_held();
    CHECK(table.held_on(ServerId(7)) == std::vector{LobbyId(3), LobbyId(2), LobbyId(1)});

    table.held_no_more(*table.find(LobbyId(2)));
    table.erase(*table.find(LobbyId(2)));
    CHECK(table.find(LobbyId(2)) == nullptr);
    CHECK(table.size() == 2);
    CHECK(table.held_on(ServerId(8)).empty());
}

TEST_CASE("matches are found by their lobby until they are erased, and visited by ascending lobby") {
    MatchTable table;
    const std::vector<std::int32_t> added = {5, 900'000'000, 7, -3, 6, 1};
    for (const std::int32_t lobby : added) table.add(LobbyId(lobby)).serial = static_cast<std::uint64_t>(lobby + 10);
    const auto visited = [&] {
        std::vector<std::int32_t> lobbies;
        table.for_each([&](const Match& match) { lobbies.push_back(match.lobby().value); });
        return lobbies;
    };
    CHECK(visited() == std::vector{-3, 1, 5, 6, 7, 900'000'000});
    const Match* seven = table.find(LobbyId(7));
    REQUIRE(seven);
    CHECK(seven->serial == 17);
    table.erase(*table.find(LobbyId(6)));
    CHECK_FALSE(table.find(LobbyId(6)));
    CHECK(table.find(LobbyId(7)) == seven);  // it stays where it is
    CHECK(table.size() == 5);
    table.add(LobbyId(6));
    CHECK(visited() == std::vector{-3, 1, 5, 6, 7, 900'000'000});
    std::size_t left = 2;
    std::vector<std::int32_t> portion;
    CHECK_FALSE(
        table.visit_after(LobbyId(1), left, [&](const Match& match) { portion.push_back(match.lobby().value); }));
    CHECK(portion == std::vector{5, 6});
}

TEST_CASE("A-6: a match that its server acknowledges is offered no more, and held behind those before it") {
    MatchTable table;
    const ServerId server(4);
    const auto offered = [&](std::int32_t lobby) -> Match& {
        Match& match = table.add(LobbyId(lobby));
        match.record.server = server;
        table.offered(match);
        return match;
    };
    Match& one = offered(1);
    Match& two = offered(2);
    table.acknowledged(two);
    CHECK(table.offered_on(server) == std::vector{LobbyId(1)});
    CHECK(table.held_on(server) == std::vector{LobbyId(2)});
    table.acknowledged(one);
    CHECK(table.offered_on(server).empty());
    CHECK(table.held_on(server) == std::vector{LobbyId(2), LobbyId(1)});
    table.held_no_more(two);
    CHECK(table.held_on(server) == std::vector{LobbyId(1)});
}
