#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

const std::string store_unavailable = "Store unavailable";

struct ListWorld : CoreWorld {
    void list(std::int32_t lobby, std::vector<std::int32_t> accounts) {
        MatchPlayers players{LobbyId(lobby), {}};
        for (const std::int32_t account : accounts) players.accounts.items.emplace_back(account);
        send(matchmaker, players);
    }
    // The accounts in force, or {-1} when there is no list.
    std::vector<std::int32_t> in_force(std::int32_t lobby) const {
        const auto* accounts = core->matches().lists().accounts(LobbyId(lobby));
        if (!accounts) return {-1};
        std::vector<std::int32_t> numbers;
        for (const AccountId account : *accounts) numbers.push_back(account.value);
        return numbers;
    }
    // What a restart would find of the lobby's list, in the order of the commits.
    std::vector<std::int32_t> on_disk(std::int32_t lobby) const {
        std::vector<std::int32_t> numbers{-1};
        for (const Record& record : store.durable) {
            if (const auto* list = std::get_if<PlayersRecord>(&record); list && list->lobby == LobbyId(lobby)) {
                numbers.clear();
                for (const AccountId account : list->accounts) numbers.push_back(account.value);
            }
            if (const auto* none = std::get_if<PlayersForgotten>(&record); none && none->lobby == LobbyId(lobby))
                numbers = {-1};
        }
        return numbers;
    }

    ConnectionId matchmaker = join_matchmaker(*this);
};

}  // namespace

TEST_CASE_FIXTURE(ListWorld, "K-2: a list of players counts once it is durable, and a later one replaces it") {
    store.holding = true;
    list(1, {3, 1, 3});
    CHECK(quiet(matchmaker));
    CHECK(in_force(1) == std::vector{-1});
    commit();
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    CHECK(in_force(1) == std::vector{1, 3});
    list(1, {});
    CHECK(in_force(1) == std::vector{1, 3});
    commit();
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    CHECK(in_force(1).empty());
}

TEST_CASE_FIXTURE(ListWorld, "X-4, fault 4: a list that the disk does not take leaves the one before it as it is") {
    list(1, {1, 2});
    REQUIRE(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    store.fault = StoreFault::full;
    list(1, {3});
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == store_unavailable);
    CHECK(in_force(1) == std::vector{1, 2});
    list(2, {3});
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == store_unavailable);
    CHECK(in_force(2) == std::vector{-1});
}

TEST_CASE_FIXTURE(
    ListWorld, "W-8, A-7, fault 5: a list waits 25 s for the disk, and holds back what is asked about its lobby only") {
    store.holding = true;
    list(1, {1});
    advance(1s);
    send(matchmaker, request_for(1));  // no server: known at once, but behind the list
    CHECK(quiet(matchmaker));
    send(matchmaker, request_for(2));
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "No servers available");
    advance(23'999ms);
    CHECK(quiet(matchmaker));
    advance(1ms);
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == store_unavailable);
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "No servers available");
    CHECK(in_force(1) == std::vector{-1});

    // The disk comes to itself: what was refused stays refused, here and after a restart.
    commit();
    CHECK(quiet(matchmaker));
    CHECK(in_force(1) == std::vector{-1});
    CHECK(on_disk(1) == std::vector{-1});
    store.holding = false;
    list(1, {4});
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    CHECK(on_disk(1) == std::vector{4});
}

TEST_CASE_FIXTURE(ListWorld, "W-8, fault 5: lists that are too late leave the one that counted, on the disk too") {
    list(1, {1, 2});
    REQUIRE(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    store.holding = true;
    list(1, {3});
    advance(5s);
    list(1, {4});  // falls with the one before it: else the disk could end up with either
    advance(20s);
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == store_unavailable);
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == store_unavailable);
    CHECK(in_force(1) == std::vector{1, 2});
    commit();
    CHECK(quiet(matchmaker));
    CHECK(in_force(1) == std::vector{1, 2});
    CHECK(on_disk(1) == std::vector{1, 2});
}

TEST_CASE_FIXTURE(ListWorld, "W-8: a list in flight is answered although its match is over by then") {
    const TestServer server = join(*this, 7777);
    const TestMatch match = allocate(*this, matchmaker, server, 1);
    store.holding = true;
    list(1, {5});
    send(server.link, MatchEndedReport{server.id, match.lobby});
    CHECK(next<MatchEventNotice>(matchmaker).event == MatchEventKind::ended);
    commit();
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    CHECK(in_force(1) == std::vector{-1});
}

TEST_CASE_FIXTURE(ListWorld, "W-7: of one lobby no more than 64 lists wait for the disk") {
    store.holding = true;
    for (std::size_t i = 0; i < Matches::asks_max; ++i) list(1, {1});
    list(1, {2});
    commit();
    for (std::size_t i = 0; i < Matches::asks_max; ++i) CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "Server busy");
}

TEST_CASE_FIXTURE(ListWorld, "K-2: a list lasts for an hour after the last word of its lobby, on the disk too") {
    list(7, {1, 2});
    advance(1ms);
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    const auto stay = [&](Duration time) {
        for (Duration passed{0}; passed < time; passed += 30s) {
            advance(30s);
            send(matchmaker, MatchmakerHeartbeat{});
        }
        forget_frames(matchmaker);
    };
    stay(59min);
    CHECK(in_force(7) == std::vector{1, 2});
    send(matchmaker, request_for(7, CoreWorld::use));  // where no server is
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "No servers available");
    stay(59min);
    CHECK(in_force(7) == std::vector{1, 2});
    stay(3min);
    CHECK(in_force(7) == std::vector{-1});
    CHECK(on_disk(7) == std::vector{-1});
}

TEST_CASE_FIXTURE(ListWorld, "W-7: one matchmaker cannot name the players of so many lobbies that others cannot") {
    constexpr auto most = static_cast<std::int32_t>(PlayerLists::lists_max * 3 / 4);
    for (std::int32_t lobby = 1; lobby <= most; ++lobby) {
        list(lobby, {1});
        if (lobby % 1'000 == 0) forget_frames(matchmaker);
    }
    CHECK(core->matches().lists().size() == most);
    list(most + 1, {1});
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "Server busy");
    // One that is there may still be replaced.
    list(most, {2});
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    const ConnectionId other = join_matchmaker(*this, "other");
    const auto answer_to = [&](ConnectionId asking, std::int32_t lobby) {
        send(asking, MatchPlayers{LobbyId(lobby), {{AccountId(1)}}});
        return error_of(next<MatchPlayersResponse>(asking));
    };
    std::int32_t lobby = most + 1;
    while (answer_to(other, lobby).empty()) ++lobby;
    CHECK(lobby > most + 10'000);
    CHECK(answer_to(join_matchmaker(*this, "third"), lobby) == "");
}
