#include "core/ledger.h"

#include <algorithm>
#include <numeric>
#include <ranges>

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

struct LedgerWorld {
    VirtualClock clock;
    KeptLines lines;
    Log log{clock, lines};
    TurnedStore store;
    Ledger ledger{store, log};
    std::vector<std::string> told;

    void promise(std::string name, std::int32_t lobby) {
        ledger.write_promised(TokenUsed{LobbyId(lobby), AccountId(1)}, [this, name](Kept kept) {
            const char* fate = kept == Kept::anothers ? " another's" : " broken";
            told.push_back(name + (kept == Kept::durable ? " kept" : fate));
        });
    }
    void note(std::int32_t lobby) { ledger.write(MatchForgotten{LobbyId(lobby)}); }
    void end_pass() { ledger.end_of_pass(clock.now()); }
    void answer(StoreFault fault = StoreFault::none) {
        REQUIRE_FALSE(store.waiting.empty());
        store.fault = fault;
        ledger.outcome(clock.now(), store.answer_next());
    }
    // Until nothing waits any more.
    void write_all() {
        for (end_pass(); !store.waiting.empty(); end_pass()) answer();
    }
    void event(std::int64_t id) { ledger.write(EventRecord{id, {}, "x", {}}); }
    std::vector<std::int64_t> durable_events() const {
        std::vector<std::int64_t> ids;
        for (const Record& record : store.durable) {
            if (const auto* event = std::get_if<EventRecord>(&record)) ids.push_back(event->id);
        }
        return ids;
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

TEST_CASE_FIXTURE(LedgerWorld, "A-9: a promise without a record is about all that was written before it") {
    const auto promise_all = [&](std::string name) {
        ledger.promise_written(
            [this, name](Kept kept) { told.push_back(name + (kept == Kept::durable ? " kept" : " broken")); });
    };
    ledger.write(ServerRecord{});
    note(1);
    promise_all("a");
    end_pass();
    promise_all("b");  // nothing is new: about what is on its way
    end_pass();
    CHECK(told.empty());
    answer();
    CHECK(told == std::vector<std::string>{"a kept"});
    answer();
    CHECK(told == std::vector<std::string>{"a kept", "b kept"});
    CHECK(durable_notes() == std::vector<std::int32_t>{1});

    note(2);
    promise_all("c");
    promise("d", 3);
    end_pass();
    promise_all("e");
    end_pass();
    answer(StoreFault::full);
    answer(StoreFault::full);
    CHECK(told == std::vector<std::string>{"a kept", "b kept", "c broken", "d broken", "e broken"});
    clock.advance(Ledger::retry_every);
    write_all();
    CHECK(durable_notes() == std::vector<std::int32_t>{1, 2});
}

TEST_CASE_FIXTURE(LedgerWorld, "N-8: what another cell has breaks its own promise only, and is not written again") {
    promise("a", 1);
    ledger.promise_written([this](Kept kept) { told.emplace_back(kept == Kept::durable ? "all kept" : "not all"); });
    note(1);
    promise("b", 2);
    promise("c", 3);
    end_pass();
    BatchOutcome outcome = store.answer_next();
    outcome.anothers = {1, 2};  // one without a promise, and b
    ledger.outcome(clock.now(), std::move(outcome));
    CHECK(told == std::vector<std::string>{"a kept", "all kept", "b another's", "c kept"});
    CHECK(ledger.store_up());
    CHECK_FALSE(ledger.waiting());
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

TEST_CASE_FIXTURE(LedgerWorld,
                  "X-4, invariant 14: what follows a failed batch fails too, so that the newest state stays last") {
    note(1);
    end_pass();
    note(2);
    promise("b", 9);
    end_pass();
    note(3);
    end_pass();
    answer(StoreFault::transient);
    answer();  // the disk would take the others
    answer();
    CHECK(told == std::vector<std::string>{"b broken"});
    CHECK(store.durable.empty());
    clock.advance(Ledger::retry_every);
    write_all();
    CHECK(durable_notes() == std::vector{1, 2, 3});
}

TEST_CASE_FIXTURE(LedgerWorld,
                  "fault 5, invariant 14: events dropped between two batches that fail leave the order as it was") {
    Ledger small(store, log, LedgerLimits{.events_waiting = 1});
    const auto pass = [&](std::int32_t lobby, std::int64_t id) {
        if (lobby != 0) small.write(MatchForgotten{LobbyId(lobby)});
        small.write(EventRecord{id, {}, "x", {}});
        small.end_of_pass(clock.now());
    };
    const auto fail = [&] {
        store.fault = StoreFault::transient;
        small.outcome(clock.now(), store.answer_next());
    };
    store.room = 2;
    pass(0, 1);
    pass(1, 2);
    pass(2, 3);  // made, and not taken by the store
    fail();
    small.end_of_pass(clock.now());  // drops what was in the first batch
    CHECK(small.events_dropped() == 1);
    fail();
    store.fault = StoreFault::none;
    clock.advance(Ledger::retry_every);
    for (small.end_of_pass(clock.now()); !store.waiting.empty(); small.end_of_pass(clock.now()))
        small.outcome(clock.now(), store.answer_next());
    CHECK(durable_notes() == std::vector<std::int32_t>{1, 2});
    CHECK(durable_events() == std::vector<std::int64_t>{2, 3});
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
    event(0);
    end_pass();
    answer(StoreFault::full);
    for (std::size_t i = 1; i < Ledger::events_waiting_max + 6; ++i) event(static_cast<std::int64_t>(i));
    end_pass();
    CHECK(ledger.events_dropped() == 6);
    clock.advance(Ledger::retry_every);
    write_all();
    CHECK(durable_notes() == std::vector{1});
    CHECK(durable_events().size() == Ledger::events_waiting_max);
    CHECK(durable_events().front() == 6);
    CHECK(std::is_sorted(store.durable.begin() + 1, store.durable.end(), [](const Record& a, const Record& b) {
        return std::get<EventRecord>(a).id < std::get<EventRecord>(b).id;
    }));
}

TEST_CASE_FIXTURE(LedgerWorld,
                  "fault 5: while the store takes no more, what waits is bounded, and no pass touches it") {
    store.room = 1;
    note(0);
    end_pass();
    for (int pass = 1; pass <= 1'000; ++pass) {
        note(pass);
        for (int i = 0; i < 100; ++i) event(pass * 100 + i);
        ledger.write(ClockRecord{pass, 1});
        ServerRecord server;
        server.id = ServerId(7);
        server.epoch = pass;
        ledger.write(server);
        end_pass();
        CHECK(ledger.congested());
    }
    CHECK(ledger.in_flight() == 1);
    // Every note, the latest of the clock and of the server, the batch that was refused, and the events.
    CHECK(ledger.records_waiting() <= 1'000 + 2 + 200 + Ledger::events_waiting_max);
    CHECK(ledger.events_dropped() > 0);
    write_all();
    std::vector<std::int32_t> all(1'001);
    std::iota(all.begin(), all.end(), 0);
    CHECK(durable_notes() == all);
    const auto last_of = [this](auto kind) {
        for (const auto& record : std::views::reverse(store.durable))
            if (const auto* found = std::get_if<decltype(kind)>(&record)) return *found;
        return kind;
    };
    CHECK(last_of(ClockRecord{}).elapsed_game_ms == 1'000);
    CHECK(last_of(ServerRecord{}).epoch == 1'000);
}

TEST_CASE_FIXTURE(LedgerWorld, "fault 5: a batch that is refused is handed over as it is, pass by pass") {
    struct Refusing final : BatchOutput {
        bool submit(RecordBatch&& batch) override {
            seen.push_back({batch.number, batch.records.size(), batch.records.data()});
            if (refusing) return false;
            taken = std::move(batch);
            return true;
        }
        struct Offer {
            std::uint64_t number;
            std::size_t size;
            const Record* records;
        };
        std::vector<Offer> seen;
        RecordBatch taken;
        bool refusing = true;
    } output;
    Ledger refused(output, log);
    for (int pass = 1; pass <= 5; ++pass) {
        refused.write(MatchForgotten{LobbyId(pass)});
        refused.end_of_pass(clock.now());
    }
    REQUIRE(output.seen.size() == 5);
    for (const auto& offer : output.seen) {
        CHECK(offer.number == 1);
        CHECK(offer.size == 1);
        CHECK(offer.records == output.seen.front().records);  // the very same, not a copy
    }
    output.refusing = false;
    refused.end_of_pass(clock.now());
    CHECK(output.seen.size() == 7);
    CHECK(output.taken.records.size() == 4);
    CHECK(refused.in_flight() == 2);
}

TEST_CASE_FIXTURE(LedgerWorld,
                  "fault 5: records on their way are bounded, and of the promises that wait the oldest stay") {
    store.room = 1'000'000;
    for (std::size_t i = 0; i < Ledger::in_flight_max; ++i) note(static_cast<std::int32_t>(i));
    end_pass();
    note(1);
    end_pass();
    CHECK(ledger.congested());
    CHECK(ledger.records_in_flight() == Ledger::in_flight_max);
    for (std::size_t i = 0; i < Ledger::promises_waiting_max + 2; ++i) promise(std::to_string(i), 1);
    end_pass();
    CHECK(told == std::vector<std::string>{"10000 broken", "10001 broken"});
    write_all();
    CHECK(told.size() == Ledger::promises_waiting_max + 2);
    CHECK(told.back() == "9999 kept");
}

TEST_CASE_FIXTURE(
    LedgerWorld,
    "fault 5: when a quick loop has many batches on their way its passes share the next, and promises wait") {
    store.room = 1'000'000;
    constexpr std::size_t more = 100;
    for (std::size_t i = 0; i < Ledger::batches_in_flight_max + more; ++i) {
        promise(std::to_string(i), static_cast<std::int32_t>(i));
        end_pass();
    }
    CHECK(ledger.in_flight() == Ledger::batches_in_flight_max);
    CHECK(ledger.records_waiting() == more);
    CHECK_FALSE(ledger.congested());
    answer();
    end_pass();
    CHECK(ledger.in_flight() == Ledger::batches_in_flight_max);
    CHECK(ledger.records_waiting() == 0);
    write_all();
    CHECK(told.size() == Ledger::batches_in_flight_max + more);
    CHECK(told.front() == "0 kept");
    CHECK(told.back() == std::to_string(Ledger::batches_in_flight_max + more - 1) + " kept");
}

TEST_CASE_FIXTURE(LedgerWorld, "fault 5: behind many batches a large one does not wait") {
    store.room = 1'000'000;
    for (std::size_t i = 0; i < Ledger::batches_in_flight_max; ++i) {
        note(static_cast<std::int32_t>(i));
        end_pass();
    }
    for (std::size_t i = 0; i < Ledger::shared_min; ++i) note(static_cast<std::int32_t>(i));
    end_pass();
    CHECK(ledger.in_flight() == Ledger::batches_in_flight_max + 1);
    CHECK(ledger.records_waiting() == 0);
}

TEST_CASE_FIXTURE(LedgerWorld, "fault 5: promises without a record are bounded as records are, the newest are broken") {
    std::size_t kept = 0;
    std::size_t broken = 0;
    for (std::size_t i = 0; i < 4 * Ledger::in_flight_max; ++i) {
        ledger.promise_written([&](Kept how) { ++(how == Kept::durable ? kept : broken); });
        if (i % 100 == 0) end_pass();
    }
    end_pass();
    CHECK(ledger.congested());
    CHECK(ledger.records_in_flight() <= Ledger::in_flight_max + Ledger::batch_max);
    CHECK(ledger.promises_waiting() <= Ledger::promises_waiting_max);
    CHECK(kept == 0);
    CHECK(broken == 4 * Ledger::in_flight_max - ledger.records_in_flight() - ledger.promises_waiting());
    write_all();
    CHECK(kept + broken == 4 * Ledger::in_flight_max);
    CHECK(kept >= Ledger::in_flight_max);
    CHECK(ledger.records_in_flight() == 0);
    CHECK_FALSE(ledger.congested());
}

TEST_CASE_FIXTURE(LedgerWorld,
                  "N-5, N-9: while a batch is in doubt the store is not up, and no promise is broken for it") {
    promise("a", 1);
    end_pass();
    store.doubt = true;
    CHECK_FALSE(ledger.store_up());
    promise("b", 2);
    end_pass();
    CHECK(told.empty());
    store.doubt = false;
    CHECK(ledger.store_up());
    write_all();
    CHECK(told == std::vector<std::string>{"a kept", "b kept"});
}

TEST_CASE_FIXTURE(
    LedgerWorld,
    "fault 5: what is left when the newest promises are broken keeps its order, its passes and its promise") {
    Ledger small(store, log, LedgerLimits{.promises_waiting = 1});
    const auto note_in = [&](std::int32_t lobby) { small.write(MatchForgotten{LobbyId(lobby)}); };
    const auto tell = [&](std::string name) {
        return [this, name](Kept kept) { told.push_back(name + (kept == Kept::durable ? " kept" : " broken")); };
    };
    const auto promise_in = [&](std::string name, std::int32_t lobby) {
        MatchRecord match;
        match.lobby = LobbyId(lobby);
        small.write_promised(match, tell(name));
    };
    store.room = 1;
    note_in(1);
    small.end_of_pass(clock.now());
    note_in(2);
    small.end_of_pass(clock.now());  // made, and not taken
    note_in(3);
    promise_in("a", 4);
    promise_in("b", 5);
    note_in(6);
    small.promise_written(tell("c"));
    small.end_of_pass(clock.now());
    CHECK(told == std::vector<std::string>{"b broken", "c broken"});
    note_in(7);
    promise_in("d", 8);
    note_in(9);
    small.end_of_pass(clock.now());
    CHECK(told.back() == "d broken");
    CHECK(small.promises_waiting() == 1);
    CHECK(small.records_waiting() == 6);

    store.anothers = LobbyId(4);  // found by its place
    store.room = 10;
    for (small.end_of_pass(clock.now()); !store.waiting.empty(); small.end_of_pass(clock.now()))
        small.outcome(clock.now(), store.answer_next());
    CHECK(told == std::vector<std::string>{"b broken", "c broken", "d broken", "a broken"});
    CHECK(durable_notes() == std::vector<std::int32_t>{1, 2, 3, 6, 7, 9});
    CHECK(small.promises_waiting() == 0);
    CHECK_FALSE(small.waiting());
}
