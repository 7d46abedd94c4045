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

TEST_CASE_FIXTURE(Claiming, "N-12: a cell that is another node's to take is left to that one for as long again") {
    silent_for(5s);
    CHECK_FALSE(may_claim({.owner = "one", .is_our_turn = false}, "two", watch));
    CHECK_FALSE(may_claim({.owner = "", .is_our_turn = false}, "two", watch));
    CHECK_FALSE(may_claim({.owner = "", .handed_to = "three", .is_our_turn = false}, "two", watch));
    CHECK(may_claim({.owner = "", .handed_to = "two", .is_our_turn = false}, "two", watch));
    CHECK(may_claim({.owner = "two", .owner_is_gone = true, .is_our_turn = false}, "two", watch));
    silent_for(9750ms);
    CHECK_FALSE(may_claim({.owner = "one", .is_our_turn = false}, "two", watch));
    silent_for(10s);
    CHECK(may_claim({.owner = "one", .is_our_turn = false}, "two", watch));
    CHECK(may_claim({.owner = "", .is_our_turn = false}, "two", watch));
    watch.missed();
    CHECK_FALSE(may_claim({.owner = "one", .is_our_turn = false}, "two", watch));
}

TEST_CASE_FIXTURE(Claiming, "N-3: a node that starts again takes what was its own, when its former life is over") {
    silent_for(250ms);
    CHECK(may_claim({.owner = "one", .owner_is_gone = true}, "one", watch));
    CHECK_FALSE(may_claim({.owner = "one", .owner_is_gone = false}, "one", watch));
    CHECK_FALSE(may_claim({.owner = "one", .owner_is_gone = true}, "two", watch));
}

TEST_CASE("N-2: a refusal counts when the row is ahead of the owner or another's, not when it is behind") {
    const CellHeld ours{{5, 100}, "one"};
    CHECK(shows_loss({{6, 100}, "two"}, ours));
    CHECK(shows_loss({{5, 101}, "one"}, ours));
    CHECK(shows_loss({{5, 90}, "two"}, ours));
    CHECK_FALSE(shows_loss({{5, 99}, "one"}, ours));
    CHECK_FALSE(shows_loss({{4, 100}, "two"}, ours));
}
