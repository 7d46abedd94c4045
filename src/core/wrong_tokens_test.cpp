#include "core/wrong_tokens.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("fault 68: operators are told at the tenth wrong token of a minute, once a minute") {
    WrongTokens wrong;
    Time now = Time{} + 5s;
    for (int i = 1; i < 10; ++i) CHECK_FALSE(wrong.add(now));
    now += 59'999ms;
    CHECK(wrong.add(now));
    CHECK_FALSE(wrong.add(now));
    now += 1ms;  // the next minute
    for (int i = 1; i < 10; ++i) CHECK_FALSE(wrong.add(now));
    CHECK(wrong.add(now));
}
