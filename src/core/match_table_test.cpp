#include "core/match_table.h"

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
