#include "postgres/cell_claim.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct Claiming {
    CellWatch watch{5s};

    // The mark has not moved for so long.
    void silent_for(Duration time) {
        for (Duration passed{0}; passed <= time; passed += 250ms) watch.seen(Time{1h + passed}, {3, 8});
    }
};

}  // namespace

TEST_CASE_FIXTURE(Claiming, "N-6: a cell that was handed over is its successor's at once, and nobody else's yet") {
    silent_for(250ms);
    CHECK(may_claim({.owner = "", .handed_to = "two"}, "two", watch));
    CHECK_FALSE(may_claim({.owner = "", .handed_to = "two"}, "three", watch));
    CHECK(may_claim({.owner = "", .handed_to = ""}, "three", watch));
}

TEST_CASE_FIXTURE(Claiming, "N-6: a successor that never comes holds a cell no longer than an owner") {
    silent_for(4750ms);
    CHECK_FALSE(may_claim({.owner = "", .handed_to = "two"}, "three", watch));
    silent_for(5s);
    CHECK(may_claim({.owner = "", .handed_to = "two"}, "three", watch));
}

TEST_CASE_FIXTURE(Claiming, "N-3: an owner keeps its cell until it was silent for long enough") {
    silent_for(4750ms);
    CHECK_FALSE(may_claim({.owner = "one"}, "two", watch));
    silent_for(5s);
    CHECK(may_claim({.owner = "one"}, "two", watch));
}

TEST_CASE_FIXTURE(Claiming, "N-3: a node that starts again takes what was its own, when its former life is over") {
    silent_for(250ms);
    CHECK(may_claim({.owner = "one", .owner_is_gone = true}, "one", watch));
    CHECK_FALSE(may_claim({.owner = "one", .owner_is_gone = false}, "one", watch));
    CHECK_FALSE(may_claim({.owner = "one", .owner_is_gone = true}, "two", watch));
}
