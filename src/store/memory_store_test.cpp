#include "store/memory_store.h"

#include <doctest/doctest.h>

#include "base/virtual_clock.h"
#include "store/outcome_log.h"
#include "store/sample_records.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct MemoryFixture {
    VirtualClock clock;
    MemoryStore store{clock, {.completion = Completion::by_hand, .queue_max = 3}};
    OutcomeLog log;

    MemoryFixture() { log.start(store); }

    bool submit(std::uint64_t number) {
        return store.submit({number, {sample_server(static_cast<std::int32_t>(number))}});
    }
    std::size_t servers() { return store.recover().servers.size(); }
};

}  // namespace

TEST_CASE("A-9: a store that completes at once answers inside submit") {
    const VirtualClock clock;
    MemoryStore store(clock);
    OutcomeLog log;
    log.start(store);
    CHECK(store.submit({1, {sample_server(1)}}));
    CHECK(log.good_in_order() == 1);
    CHECK(store.recover().servers.size() == 1);
    store.fail_with(StoreFault::full);
    CHECK(store.submit({2, {sample_server(2)}}));
    CHECK(log.last().fault == StoreFault::full);
    CHECK(store.recover().servers.size() == 1);
    CHECK(store.figures().faults_full == 1);
}

TEST_CASE("A-9: a batch that is handed over inside an outcome is answered after it") {
    const VirtualClock clock;
    MemoryStore store(clock);
    std::vector<std::uint64_t> answered;
    store.start(
        [&](const BatchOutcome& outcome) {
            if (outcome.number == 1) CHECK(store.submit({2, {}}));
            answered.push_back(outcome.number);
        },
        nullptr);
    CHECK(store.submit({1, {}}));
    CHECK(answered == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE_FIXTURE(MemoryFixture, "invariant 3: nothing is durable before it is completed by hand") {
    CHECK(submit(1));
    CHECK(submit(2));
    CHECK(store.pending() == 2);
    CHECK(servers() == 0);
    CHECK(store.complete_next(StoreFault::transient));
    CHECK(store.complete_next());
    CHECK_FALSE(store.complete_next());
    CHECK(log.all().size() == 2);
    CHECK(log.last().number == 2);
    CHECK(servers() == 1);
    CHECK(store.figures().faults_transient == 1);
    CHECK(store.figures().commits == 1);
}

TEST_CASE_FIXTURE(MemoryFixture, "fault 5: past its bound the queue refuses and leaves the batch untouched") {
    for (std::uint64_t number = 1; number <= 3; ++number) CHECK(submit(number));
    RecordBatch fourth{4, {sample_server(4)}};
    CHECK_FALSE(store.submit(std::move(fourth)));
    CHECK(fourth.records.size() == 1);  // NOLINT(bugprone-use-after-move): a refused batch stays with its owner
    CHECK(store.figures().queue_depth == 3);
    CHECK(store.complete_next());
    CHECK(store.submit(std::move(fourth)));
}

TEST_CASE_FIXTURE(MemoryFixture, "fault 1: a crash loses what was not answered, or keeps it whole and untold") {
    for (std::uint64_t number = 1; number <= 3; ++number) CHECK(submit(number));
    CHECK(store.complete_next());
    const RecoveredState state = store.crash(1);
    CHECK(state.servers == std::vector{sample_server(1), sample_server(2)});
    CHECK(log.all().size() == 1);
    CHECK(store.pending() == 0);
    CHECK(as_text(store.recover()) == as_text(state));

    OutcomeLog next;
    next.start(store);
    CHECK(submit(1));
    CHECK(store.complete_next());
    CHECK(next.good_in_order() == 1);
}

TEST_CASE_FIXTURE(MemoryFixture, "fault 3: after its death a store answers nothing and says so once") {
    CHECK(submit(1));
    store.die(StoreError(74, "the disk failed"));
    store.die(StoreError(74, "the disk failed again"));
    CHECK_FALSE(store.complete_next());
    CHECK(log.deaths() == 1);
    CHECK(log.all().empty());
    CHECK_FALSE(store.stop(1s));
    CHECK(store.figures().faults_fatal == 1);
}

TEST_CASE_FIXTURE(MemoryFixture, "fault 5: a slow store answers after its delay, not before") {
    store.set_completion(Completion::delayed, 2s);
    CHECK(submit(1));
    clock.advance(1s);
    CHECK(submit(2));
    CHECK(store.next_due() == clock.now() + 1s);
    CHECK(store.complete_due(clock.now() + 1s - 1ns) == 0);
    CHECK(store.complete_due(clock.now() + 1s) == 1);
    CHECK(log.good_in_order() == 1);
    CHECK(store.complete_due(clock.now() + 2s) == 1);
    CHECK_FALSE(store.next_due().has_value());
}

TEST_CASE_FIXTURE(MemoryFixture, "X-3: a stop completes what waits and says whether all was written") {
    CHECK(submit(1));
    CHECK(submit(2));
    SUBCASE("all is written") {
        CHECK(store.stop(1s));
    }
    SUBCASE("the disk is full") {
        store.fail_with(StoreFault::full);
        CHECK_FALSE(store.stop(1s));
    }
    CHECK(log.all().size() == 2);
}

TEST_CASE_FIXTURE(MemoryFixture, "X-4: events are read after an id, newest last, up to a limit") {
    CHECK(store.submit(
        {1, {sample_event(1, clock.wall()), sample_event(2, clock.wall()), sample_event(3, clock.wall())}}));
    CHECK(store.events_after(0, 10).empty());
    CHECK(store.complete_next());
    const auto events = store.events_after(1, 10);
    REQUIRE(events.size() == 2);
    CHECK(events[0] == sample_event(2, clock.wall()));
    CHECK(events[1] == sample_event(3, clock.wall()));
    CHECK(store.events_after(0, 1).size() == 1);
    const auto backwards = store.events_before(3, 10);
    REQUIRE(backwards.size() == 2);
    CHECK(backwards[0] == sample_event(2, clock.wall()));
    CHECK(backwards[1] == sample_event(1, clock.wall()));
    CHECK(store.events_before(4, 1).at(0) == sample_event(3, clock.wall()));
    clock.advance(24h * 8);
    store.prune(clock.wall());
    CHECK(store.events_after(0, 10).empty());
}
