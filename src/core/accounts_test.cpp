#include "core/accounts.h"

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

struct AccountsWorld {
    VirtualClock clock;
    KeptLines lines;
    Log log{clock, lines};
    TurnedStore store;
    Ledger ledger{store, log};
    Accounts accounts{ledger, {{"old", AccountId(40)}}};
    std::vector<std::optional<AccountId>> told;

    void keep(const char* name) {
        accounts.keep(name, [this](std::optional<AccountId> id) { told.push_back(id); });
    }
    void answer(StoreFault fault = StoreFault::none) {
        clock.advance(1s);
        ledger.end_of_pass(clock.now());
        REQUIRE_FALSE(store.waiting.empty());
        store.fault = fault;
        ledger.outcome(clock.now(), store.answer_next());
    }
};

}  // namespace

TEST_CASE_FIXTURE(AccountsWorld, "P-1: a name gets a new id that counts from the moment it is durable, and keeps it") {
    CHECK(accounts.find("old") == AccountId(40));
    CHECK_FALSE(accounts.find("new"));
    keep("new");
    keep("new");  // logs in twice before the disk has it
    CHECK_FALSE(accounts.find("new"));
    CHECK(told.empty());
    answer();
    REQUIRE(told.size() == 2);
    CHECK(told[0] == AccountId(41));
    CHECK(told[1] == AccountId(41));
    CHECK(accounts.find("new") == AccountId(41));
}

TEST_CASE("N-8: new names get ids of the cell's own share, whatever other cells gave") {
    VirtualClock clock;
    KeptLines lines;
    Log log(clock, lines);
    TurnedStore store;
    Ledger ledger(store, log);
    const std::vector<AccountRecord> recovered{
        {"before", AccountId(9)}, {"own", AccountId(11)}, {"far", AccountId(99)}};
    Accounts accounts(ledger, recovered, {10, 13});
    CHECK(accounts.find("far") == AccountId(99));
    REQUIRE(accounts.has_room("new"));
    std::optional<AccountId> told;
    accounts.keep("new", [&](std::optional<AccountId> id) { told = id; });
    ledger.end_of_pass(clock.now());
    ledger.outcome(clock.now(), store.answer_next());
    CHECK(told == AccountId(12));
    CHECK_FALSE(accounts.has_room("newer"));
    CHECK(Accounts(ledger, {}, {10, 13}).has_room("new"));
    CHECK_FALSE(Accounts(ledger, {}, {1, 1}).has_room("new"));
}

TEST_CASE_FIXTURE(AccountsWorld,
                  "P-1, fault 4: a name that the disk does not take has no id, and another never gets it") {
    keep("lost");
    answer(StoreFault::full);
    REQUIRE(told.size() == 1);
    CHECK_FALSE(told[0]);
    CHECK_FALSE(accounts.find("lost"));
    ledger.write(MatchForgotten{LobbyId(1)});  // finds out that the disk has room again
    answer();
    keep("next");
    answer();
    CHECK(accounts.find("next") == AccountId(42));
}
