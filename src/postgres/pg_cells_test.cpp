// Several cells in one PostgreSQL: none touches what another has.
#include "postgres/pg_cells.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "postgres/cell_owner_fixture.h"
#include "postgres/test_engine.h"
#include "store/hand_clock.h"
#include "store/sample_records.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

const CellPlans two_cells{{"eu", std::vector<RegionId>{RegionId(2)}, true},
                          {"us", std::vector<RegionId>{RegionId(0)}, true}};

// The owner of one of the two cells.
struct OwnerOfTwo : CellOwner {
    OwnerOfTwo(const Clock& clock, const std::string& url, const std::string& cell)
        : CellOwner(clock, url, two_cells, cell) {}
};

// What the cell's next owner finds.
RecoveredState found_in(const Clock& clock, const std::string& url, std::unique_ptr<OwnerOfTwo>& owner,
                        const std::string& cell) {
    REQUIRE(owner->store->stop(30s));
    owner = std::make_unique<OwnerOfTwo>(clock, url, cell);
    return owner->recovered;
}

MatchRecord match(std::int32_t lobby, MatchState state = MatchState::offering) {
    return sample_match(lobby, state, sample_now);
}

using Places = std::vector<std::size_t>;

}  // namespace

TEST_CASE("N-8: a lobby and a name are one cell's, another's are left out, and the rest of the batch is kept") {
    if (!TestEngine::is_installed()) return;
    TestEngine engine;
    const std::string url = engine.url("cells");
    const HandClock clock;
    auto eu = std::make_unique<OwnerOfTwo>(clock, url, "eu");
    auto us = std::make_unique<OwnerOfTwo>(clock, url, "us");
    const AbortOwed owed{*IpAddress::parse("10.0.0.1"), 7777, LobbyId(7)};
    CHECK(eu->write({PlayersRecord{LobbyId(7), "chat", {AccountId(1)}}, match(7, MatchState::allocated),
                     TokenUsed{LobbyId(7), AccountId(1)}, AccountRecord{"Zoe", AccountId(1)}, owed,
                     match(9, MatchState::ended)}) == Places{});

    const AccountId late(1 << 30);
    CHECK(us->write({sample_server(1 << 30), match(7), match(8), match(9), AccountRecord{"Zoe", late},
                     AccountRecord{"Amy", late}}) == Places{1, 3, 4});
    // What core writes next of a lobby that it did not get, and of endpoints that are another's, too.
    CHECK(us->write({MatchForgotten{LobbyId(7)}, MatchForgotten{LobbyId(9)},
                     PlayersRecord{LobbyId(7), "chat", {AccountId(2)}}, owed}) == Places{});
    CHECK(us->write({AbortsTold{owed.ip, owed.port}, TokenUsed{LobbyId(7), AccountId(2)},
                     TokenReleased{LobbyId(7), AccountId(1)}, EventTold{LobbyId(9)}, ServerRemoved{ServerId(5)}}) ==
          Places{});

    const RecoveredState of_eu = found_in(clock, url, eu, "eu");
    REQUIRE(of_eu.matches.size() >= 1);
    CHECK(of_eu.matches.front() == match(7, MatchState::allocated));
    CHECK(of_eu.tokens_used == std::vector<TokenUsed>{{LobbyId(7), AccountId(1)}});
    REQUIRE(of_eu.players.size() == 1);
    CHECK(of_eu.players[0].accounts == std::vector<AccountId>{AccountId(1)});
    CHECK(of_eu.owed_aborts == std::vector<AbortOwed>{owed});
    CHECK(of_eu.servers.empty());
    const RecoveredState of_us = found_in(clock, url, us, "us");
    REQUIRE(of_us.matches.size() == 1);
    CHECK(of_us.matches[0] == match(8));
    CHECK(of_us.owed_aborts.empty());
    CHECK(of_us.tokens_used.empty());
    REQUIRE(of_us.players.size() == 1);
    CHECK(of_us.players[0].accounts == std::vector<AccountId>{AccountId(2)});
    CHECK(of_us.servers.size() == 1);
    CHECK(of_us.over.empty());
    CHECK(of_us.accounts == std::vector<AccountRecord>{{"Zoe", AccountId(1)}, {"Amy", late}});

    // A cell's own is written again as ever, and what it has forgotten is free.
    CHECK(eu->write({match(7, MatchState::ready), AccountRecord{"Zoe", AccountId(1)}}) == Places{});
    CHECK(eu->write({MatchForgotten{LobbyId(7)}}) == Places{});
    CHECK(us->write({match(7)}) == Places{});
    CHECK(eu->write({match(7)}) == Places{0});
}

TEST_CASE("N-8: of a lobby that two cells write at once, one has it") {
    if (!TestEngine::is_installed()) return;
    TestEngine engine;
    const std::string url = engine.url("race");
    const HandClock clock;
    auto eu = std::make_unique<OwnerOfTwo>(clock, url, "eu");
    auto us = std::make_unique<OwnerOfTwo>(clock, url, "us");
    constexpr int batches = 100;
    constexpr int each = 20;
    for (int batch = 0; batch < batches; ++batch) {
        for (OwnerOfTwo* owner : {eu.get(), us.get()}) {
            std::vector<Record> records;
            for (int i = 0; i < each; ++i) records.emplace_back(match(1 + batch * each + i));
            // One of them in the other order, as their passes would have it.
            if (owner == us.get()) std::reverse(records.begin(), records.end());
            owner->submit(std::move(records));
        }
    }
    std::size_t got = 0;
    for (OwnerOfTwo* owner : {eu.get(), us.get()}) {
        REQUIRE(owner->outcomes.wait_for(batches));
        for (const BatchOutcome& outcome : owner->outcomes.all()) {
            CHECK(outcome.fault == StoreFault::none);
            got += each - outcome.anothers.size();
        }
    }
    CHECK(got == batches * each);
    const RecoveredState of_eu = found_in(clock, url, eu, "eu");
    const RecoveredState of_us = found_in(clock, url, us, "us");
    std::set<LobbyId> lobbies;
    for (const RecoveredState* state : {&of_eu, &of_us})
        for (const MatchRecord& one : state->matches) CHECK(lobbies.insert(one.lobby).second);
    CHECK(lobbies.size() == batches * each);
}
