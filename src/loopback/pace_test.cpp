#include "loopback/pace.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("G-20: a flood waits for its turns, and rest gives them back") {
    Pace pace({10, 2});
    const Time now{1h};
    CHECK(pace.take(now) == 0ns);
    CHECK(pace.take(now) == 0ns);
    CHECK(pace.take(now) == 100ms);
    CHECK(pace.take(now) == 200ms);
    CHECK(pace.take(now + 300ms) == 0ns);
    CHECK(pace.take(now + 1h) == 0ns);
    CHECK(pace.take(now + 1h) == 0ns);
    CHECK(pace.take(now + 1h) == 100ms);
}
