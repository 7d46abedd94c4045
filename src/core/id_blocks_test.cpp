#include "core/id_blocks.h"

#include <limits>
#include <memory>

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

// A core at its very start, before anybody may come.
struct StartingCore {
    void pass() {
        while (!store.holding && !store.waiting.empty()) {
            core.store_outcome({clock.now(), loop.time().running()}, store.answer_next());
        }
        loop.turn();
        core.end_of_pass({clock.now(), loop.time().running()});
    }

    VirtualClock clock;
    KeptLines log_lines;
    Log log{clock, log_lines, LogLevel::debug};
    SeededEntropy entropy{1};
    RememberedLinks links;
    TurnedStore store;
    GameLoop loop{clock, log};
    Core core{CoreConfig{}, Core::Parts{loop, log, links, store, entropy, clock, clock.wall()}, {}};
};

}  // namespace

TEST_CASE_FIXTURE(StartingCore, "X-4, fault 4: a start without room on the disk is ready as soon as there is room") {
    for (const StoreFault fault : {StoreFault::full, StoreFault::transient, StoreFault::full}) {
        store.fault = fault;
        pass();
        clock.advance(1s);
        CHECK_FALSE(core.ready());
    }
    store.fault = StoreFault::none;
    for (int i = 0; i < 3; ++i) {
        pass();
        clock.advance(1s);
    }
    CHECK(core.ready());
    CHECK(core.ledger().store_up());
}

TEST_CASE("X-4: numbers are given from blocks that are durable, and never twice across restarts") {
    VirtualClock clock;
    KeptLines lines;
    Log log(clock, lines, LogLevel::debug);
    TurnedStore store;
    Ledger ledger(store, log);
    IdBlocks numbers(ledger, {.server_ids_below = 5, .epochs_below = 7, .event_ids_below = 9});
    CHECK_FALSE(numbers.server_id().has_value());
    CHECK_FALSE(numbers.ready());
    ledger.end_of_pass(clock.now());
    ledger.outcome(clock.now(), {1, StoreFault::none});
    CHECK(numbers.ready());
    CHECK(numbers.server_id() == ServerId(5));
    CHECK(numbers.epoch() == 7);
    CHECK(numbers.event_id() == 9);
    const auto& reserved = std::get<NumbersReserved>(store.waiting.front().records.front());
    CHECK(reserved.server_ids_below == 5 + IdBlocks::server_block);
}

TEST_CASE("X-4: once the last server id is reserved, nobody asks the store for more") {
    constexpr std::int32_t last = std::numeric_limits<std::int32_t>::max();
    VirtualClock clock;
    KeptLines lines;
    Log log(clock, lines, LogLevel::debug);
    TurnedStore store;
    Ledger ledger(store, log);
    IdBlocks numbers(ledger, {.server_ids_below = last - 2, .epochs_below = 7, .event_ids_below = 9});
    numbers.reserve();
    ledger.end_of_pass(clock.now());
    ledger.outcome(clock.now(), {1, StoreFault::none});
    CHECK(numbers.server_id() == ServerId(last - 2));
    CHECK(numbers.event_id() == 9);
    CHECK(numbers.server_id() == ServerId(last - 1));
    CHECK_FALSE(numbers.server_id().has_value());
    CHECK(numbers.epoch() == 7);
    ledger.end_of_pass(clock.now());
    CHECK(store.waiting.size() == 1);
}

TEST_CASE("N-8: server ids begin with the cell's share, go on where the last run ended, and end with the share") {
    VirtualClock clock;
    KeptLines lines;
    Log log(clock, lines, LogLevel::debug);
    TurnedStore store;
    Ledger ledger(store, log);
    const auto reserved = [&](IdBlocks& numbers) -> IdBlocks& {
        numbers.reserve();
        ledger.end_of_pass(clock.now());
        ledger.outcome(clock.now(), store.answer_next());
        return numbers;
    };
    constexpr NumberShare share{50'000, 50'002 + IdBlocks::server_block};
    IdBlocks first(ledger, {}, share);
    CHECK_FALSE(first.ready());
    CHECK(reserved(first).server_id() == ServerId(50'000));
    const NumbersReserved after{.server_ids_below = 50'000 + IdBlocks::server_block};
    IdBlocks second(ledger, after, share);
    CHECK(reserved(second).server_id() == ServerId(50'000 + IdBlocks::server_block));
    CHECK(second.server_id() == ServerId(50'001 + IdBlocks::server_block));
    CHECK_FALSE(second.server_id().has_value());
}
