#include "postgres/cell_watch.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct Watching {
    CellWatch watch{5s};
    Time now{1h};

    // Asks every 250 ms for so long.
    void see(CellMark mark, Duration time) {
        for (Duration passed{0}; passed <= time; passed += 250ms) {
            watch.seen(now, mark);
            if (passed < time) now += 250ms;
        }
    }
};

}  // namespace

TEST_CASE_FIXTURE(Watching, "N-3: a cell may be taken once its mark was unchanged for the silence, and not before") {
    CHECK_FALSE(watch.may_take());
    see({1, 7}, 4750ms);
    CHECK_FALSE(watch.may_take());
    now += 250ms;
    watch.seen(now, {1, 7});
    CHECK(watch.may_take());
    CHECK(watch.silent_for() == 5s);
}

TEST_CASE_FIXTURE(Watching, "N-3: a batch or a term that changes begins the silence anew") {
    see({1, 7}, 4750ms);
    now += 250ms;
    watch.seen(now, {1, 8});
    CHECK_FALSE(watch.may_take());
    see({1, 8}, 4750ms);
    now += 250ms;
    watch.seen(now, {2, 8});
    CHECK_FALSE(watch.may_take());
}

TEST_CASE_FIXTURE(Watching, "N-3, fault 83: only time counts in which our own questions were answered") {
    SUBCASE("the engine is away in between") {
        see({1, 7}, 4750ms);
        watch.missed();
        now += 10s;
        watch.seen(now, {1, 7});
        CHECK_FALSE(watch.may_take());
        see({1, 7}, 4750ms);
        CHECK_FALSE(watch.may_take());
        now += 250ms;
        watch.seen(now, {1, 7});
        CHECK(watch.may_take());
    }
    SUBCASE("we ourselves stood still") {
        see({1, 7}, 4750ms);
        now += 1s + 1ms;
        watch.seen(now, {1, 7});
        CHECK_FALSE(watch.may_take());
    }
    SUBCASE("a second between two answers is no gap") {
        see({1, 7}, 4s);
        now += 1s;
        watch.seen(now, {1, 7});
        CHECK(watch.may_take());
    }
}
