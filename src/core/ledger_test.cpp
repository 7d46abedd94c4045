#include "core/ledger.h"

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

struct LedgerWorld {
    VirtualClock clock;
    RememberedLog lines;
    Log log{clock, lines};
    TurnedStore store;
    Ledger ledger{store, log};
    std::vector<std::string> told;

    void promise(std::string name, std::int32_t lobby) {
        ledger.write_promised(TokenUsed{LobbyId(lobby), AccountId(1)},
                              [this, name](bool durable) { told.push_back(name + (durable ? " kept" : " broken")); });
    }
    void note(std::int32_t lobby) { ledger.write(MatchForgotten{LobbyId(lobby)}); }
    void end_pass() { ledger.end_of_pass(clock.now()); }
    void answer(StoreFault fault = StoreFault::none) {
        REQUIRE_FALSE(store.waiting.empty());
        const RecordBatch batch = std::move(store.waiting.front());
        store.waiting.pop_front();
        if (fault == StoreFault::none)
            store.durable.insert(store.durable.end(), batch.records.begin(), batch.records.end());
        ledger.outcome(clock.now(), {batch.number, fault});
    }
    std::vector<std::int32_t> durable_notes() const {
        std::vector<std::int32_t> lobbies;
        for (const Record& record : store.durable) {
            if (const auto* note = std::get_if<MatchForgotten>(&record)) lobbies.push_back(note->lobby.value);
        }
        return lobbies;
    }
};

}  // namespace

TEST_CASE_FIXTURE(LedgerWorld, "A-9: a promise is kept when its batch is durable, not before") {
    promise("a", 1);
    end_pass();
    promise("b", 2);
    end_pass();
    CHECK(told.empty());
    answer();
    CHECK(told == std::vector<std::string>{"a kept"});
    answer();
    CHECK(told == std::vector<std::string>{"a kept", "b kept"});
    end_pass();
    CHECK(store.waiting.empty());  // a pass without records makes no batch
}

TEST_CASE_FIXTURE(LedgerWorld, "X-4, fault 4: a full disk breaks promises, keeps the rest, and heals by itself") {
    promise("a", 1);
    note(1);
    end_pass();
    answer(StoreFault::full);
    CHECK(told == std::vector<std::string>{"a broken"});
    CHECK_FALSE(ledger.store_up());

    promise("b", 2);
    note(2);
    end_pass();
    CHECK(told.back() == "b broken");  // at once: the disk is known to be full
    CHECK(store.waiting.empty());

    clock.advance(Ledger::retry_every);
    end_pass();
    answer();
    CHECK(ledger.store_up());
    CHECK(durable_notes() == std::vector{1, 2});
    CHECK(lines.has("The store works again"));
}

TEST_CASE_FIXTURE(
    LedgerWorld,
    "X-4: what was handed over before a failure is written again behind it, so that the newest state stays last") {
    note(1);
    end_pass();
    note(2);
    promise("b", 9);
    end_pass();
    answer(StoreFault::transient);
    answer();  // the second went through before the first was known to fail
    CHECK(told == std::vector<std::string>{"b kept"});
    clock.advance(Ledger::retry_every);
    end_pass();
    answer();
    CHECK(durable_notes() == std::vector{2, 1, 2});
    CHECK(std::holds_alternative<TokenUsed>(store.durable.back()));
}

TEST_CASE_FIXTURE(LedgerWorld,
                  "fault 4, invariant 14: what came while a batch was on its way is written after that batch") {
    note(1);
    end_pass();
    answer(StoreFault::full);
    clock.advance(Ledger::retry_every);
    end_pass();  // tries again with 1
    note(2);
    end_pass();  // known to be down: 2 waits
    answer(StoreFault::full);
    note(3);
    end_pass();
    clock.advance(Ledger::retry_every);
    end_pass();
    answer();
    CHECK(durable_notes() == std::vector<std::int32_t>{1, 2, 3});
}

TEST_CASE_FIXTURE(LedgerWorld, "fault 5: when the store takes no more the records wait, and the ledger says so") {
    store.room = 1;
    note(1);
    end_pass();
    promise("a", 2);
    end_pass();
    CHECK(ledger.congested());
    CHECK(ledger.waiting());
    answer();
    CHECK_FALSE(ledger.congested());
    end_pass();
    answer();
    CHECK(told == std::vector<std::string>{"a kept"});
    CHECK_FALSE(ledger.waiting());
}

TEST_CASE_FIXTURE(
    LedgerWorld,
    "fault 4: while the disk is full what waits is bounded: the oldest events go first, nothing else does") {
    note(1);
    end_pass();
    answer(StoreFault::full);
    for (std::size_t i = 0; i < Ledger::backlog_max + 5; ++i)
        ledger.write(EventRecord{static_cast<std::int64_t>(i), {}, "x", "{}"});
    end_pass();
    CHECK(ledger.events_dropped() == 6);
    clock.advance(Ledger::retry_every);
    end_pass();
    answer();
    CHECK(durable_notes() == std::vector{1});
    CHECK(store.durable.size() == Ledger::backlog_max);
    CHECK(std::get<EventRecord>(store.durable[1]).id == 6);
}
