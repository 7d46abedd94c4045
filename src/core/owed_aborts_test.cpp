#include "core/owed_aborts.h"

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

struct Owing {
    VirtualClock clock;
    KeptLines lines;
    Log log{clock, lines, LogLevel::debug};
    TurnedStore store;
    Ledger ledger{store, log};
    OwedAborts owed{ledger};
    const IpAddress ip = *IpAddress::parse("10.0.0.1");

    // What a restart would find.
    std::size_t on_disk() {
        ledger.end_of_pass(clock.now());
        std::vector<AbortOwed> left;
        for (const RecordBatch& batch : store.waiting) {
            for (const Record& record : batch.records) {
                if (const auto* one = std::get_if<AbortOwed>(&record)) left.push_back(*one);
                if (const auto* settled = std::get_if<AbortSettled>(&record)) {
                    std::erase_if(left, [&](const AbortOwed& one) {
                        return one.ip == settled->ip && one.port == settled->port && one.lobby == settled->lobby;
                    });
                }
                if (const auto* told = std::get_if<AbortsTold>(&record)) {
                    std::erase_if(left,
                                  [&](const AbortOwed& one) { return one.ip == told->ip && one.port == told->port; });
                }
            }
        }
        return left.size();
    }
};

}  // namespace

TEST_CASE_FIXTURE(Owing, "F-6: an endpoint is owed each abort once, and told again until it has surely heard it") {
    owed.add({ip, 7001}, LobbyId(1));
    owed.add({ip, 7001}, LobbyId(2));
    owed.add({ip, 7001}, LobbyId(1));
    owed.add({ip, 7002}, LobbyId(3));
    CHECK(on_disk() == 3);
    const auto minute_over = [&](std::int64_t registration) {
        for (const Endpoint& endpoint : owed.endpoints())
            owed.settle_heard(endpoint, endpoint.port == 7001 ? registration : 0);
    };
    minute_over(1);
    minute_over(1);
    CHECK(owed.size() == 3);  // it is there, and nobody has told it
    CHECK(owed.tell({ip, 7001}) == std::vector{LobbyId(1), LobbyId(2)});
    minute_over(1);
    minute_over(2);  // another link
    CHECK(owed.tell({ip, 7001}) == std::vector{LobbyId(1), LobbyId(2)});
    minute_over(2);
    owed.add({ip, 7001}, LobbyId(4), true);
    minute_over(2);
    CHECK(owed.tell({ip, 7001}) == std::vector{LobbyId(4)});
    CHECK(on_disk() == 2);
    minute_over(2);
    minute_over(2);
    CHECK(owed.tell({ip, 7001}).empty());
    CHECK(owed.size() == 1);
    CHECK(on_disk() == 1);
    CHECK(owed.dropped() == 0);
}

TEST_CASE_FIXTURE(Owing, "A-7: who is offered a lobby anew is owed its abort no more, on the disk neither") {
    owed.add({ip, 7001}, LobbyId(1), true);
    owed.add({ip, 7001}, LobbyId(2), true);
    owed.settle({ip, 7001}, LobbyId(1));
    owed.settle({ip, 7001}, LobbyId(1));
    owed.settle({ip, 7002}, LobbyId(2));
    CHECK(owed.tell({ip, 7001}) == std::vector{LobbyId(2)});
    CHECK(on_disk() == 1);
    owed.settle({ip, 7001}, LobbyId(2));
    CHECK(owed.size() == 0);
    CHECK(on_disk() == 0);
}

TEST_CASE_FIXTURE(Owing, "F-6: what is owed is bounded, the longest away are dropped first, and that is counted") {
    for (std::int32_t lobby = 1; lobby <= 10; ++lobby) owed.add({ip, 7001}, LobbyId(lobby));
    for (std::size_t i = 0; i < OwedAborts::lobbies_max / 5; ++i) {
        for (std::int32_t lobby = 1; lobby <= 5; ++lobby)
            owed.add({ip, static_cast<std::uint16_t>(10'000 + i)}, LobbyId(lobby));
    }
    CHECK(owed.size() <= OwedAborts::lobbies_max);
    CHECK(owed.dropped() == 10);
    CHECK(owed.tell({ip, 7001}).empty());
    CHECK(owed.tell({ip, 10'000}).size() == 5);
}
