#include "store/commit_pace.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

namespace {

constexpr Time began{};

}  // namespace

TEST_CASE("X-4: after a quiet time a few commits begin at once, then each begins its time after the last") {
    CommitPace pace(500us);
    for (const Time quiet : {began, began + 1s}) {
        for (int i = 0; i < CommitPace::burst; ++i) CHECK(pace.begin(quiet) == 0us);
        CHECK(pace.begin(quiet + 200us) == 300us);
        CHECK(pace.begin(quiet + 500us) == 500us);
        CHECK(pace.begin(quiet + 1'400us) == 100us);
        // One that took longer is made up for: the next one is due already.
        CHECK(pace.begin(quiet + 2'700us) == 0us);
        CHECK(pace.begin(quiet + 2'700us) == 0us);
        CHECK(pace.begin(quiet + 2'700us) == 300us);
    }
}

TEST_CASE("X-4: no commit rests for longer than the pace, even by a clock that stands still") {
    CommitPace pace(500us);
    for (int i = 0; i < 100; ++i) CHECK(pace.begin(began) <= 500us);
    CHECK(pace.begin(began) == 500us);
}

TEST_CASE("X-4: without a pace no commit rests") {
    CommitPace pace(0us);
    for (int i = 0; i < 100; ++i) CHECK(pace.begin(began) == 0us);
}
