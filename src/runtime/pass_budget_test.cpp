#include "runtime/pass_budget.h"

#include <chrono>
#include <string_view>

#include <doctest/doctest.h>

#include "base/virtual_clock.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct BudgetFixture {
    // A handler that takes so long.
    void handle(Duration took, std::string_view name) {
        clock.advance(took);
        budget.ended(HandlerKind::timer, [&] { return name; });
    }

    VirtualClock clock;
    PassBudget budget{clock};
    Time start = clock.now();
};

}  // namespace

TEST_CASE_FIXTURE(BudgetFixture,
                  "L-4: a phase ends after its most handlers, or when its time is over, but not before its least") {
    budget.begin_pass(start);
    CHECK_FALSE(budget.allows());  // no phase yet
    budget.begin_phase({3, 2, start + 10ms});
    CHECK(budget.allows());
    handle(20ms, "slow");
    CHECK(budget.allows());  // the least is two
    handle(1ms, "quick");
    CHECK_FALSE(budget.allows());
    CHECK(budget.used() == 2);

    budget.begin_phase({3, 0, start + 100ms});
    for (int i = 0; i < 3; ++i) {
        CHECK(budget.allows());
        handle(0ms, "quick");
    }
    CHECK_FALSE(budget.allows());
    budget.begin_phase({3, 0, start});
    CHECK_FALSE(budget.allows());
}

TEST_CASE_FIXTURE(BudgetFixture, "L-4: the slowest handler of the pass is known by kind, name and time") {
    budget.begin_pass(start);
    budget.begin_phase({10, 10, start});
    handle(2ms, "first");
    handle(7ms, "slowest");
    handle(7ms, "as slow, but later");
    handle(3ms, "last");
    CHECK(budget.slowest().name == "slowest");
    CHECK(budget.slowest().took == 7ms);
    CHECK(to_string(budget.slowest().kind) == "timer");
    CHECK(budget.latest() == start + 19ms);
    budget.begin_pass(clock.now());
    CHECK(budget.slowest().took == 0ms);
}
