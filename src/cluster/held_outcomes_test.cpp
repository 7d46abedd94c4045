#include "cluster/held_outcomes.h"

#include <vector>

#include <doctest/doctest.h>

using namespace muster;

namespace {

struct Holding {
    HeldOutcomes held;
    bool may = true;
    int asked = 0;
    std::vector<std::uint64_t> told;

    bool ask() {
        ++asked;
        return may;
    }
    void take(std::uint64_t number, StoreFault fault = StoreFault::none) {
        held.take(
            {number, fault, {}}, [this] { return ask(); },
            [this](BatchOutcome&& outcome) { told.push_back(outcome.number); });
    }
    void release() {
        held.release([this] { return ask(); }, [this](BatchOutcome&& outcome) { told.push_back(outcome.number); });
    }
};

}  // namespace

TEST_CASE_FIXTURE(Holding, "N-4: what is durable is told at once while the store may answer") {
    take(1);
    take(2);
    CHECK(told == std::vector<std::uint64_t>{1, 2});
    CHECK_FALSE(held.waiting());
}

TEST_CASE_FIXTURE(Holding, "N-4: after a gap nothing that was promised is told before the store may answer again") {
    may = false;
    take(1);
    take(2);
    release();
    CHECK(told.empty());
    CHECK(held.waiting());
    may = true;
    release();
    CHECK(told == std::vector<std::uint64_t>{1, 2});
    CHECK_FALSE(held.waiting());
}

TEST_CASE_FIXTURE(Holding, "N-4: a refusal waits for nobody but for what came before it") {
    may = false;
    take(1, StoreFault::transient);
    CHECK(told == std::vector<std::uint64_t>{1});
    CHECK(asked == 0);
    take(2);
    take(3, StoreFault::transient);
    CHECK(told == std::vector<std::uint64_t>{1});
    may = true;
    release();
    CHECK(told == std::vector<std::uint64_t>{1, 2, 3});
}

TEST_CASE_FIXTURE(Holding,
                  "N-4: a pass that has told of promises says nothing after a gap, until the store may answer") {
    const auto may_send = [this] { return held.may_send([this] { return ask(); }); };
    may = false;
    CHECK(may_send());  // nothing was promised
    take(1, StoreFault::transient);
    CHECK(may_send());
    may = true;
    take(2);
    may = false;  // it stood still between the two
    CHECK_FALSE(may_send());
    CHECK_FALSE(may_send());
    may = true;
    CHECK(may_send());
    may = false;
    CHECK(may_send());
}
