#include "runtime/flagged.h"

#include <stdexcept>

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("L-5: a flag is set for as long as its guard lives, also when the scope is left by a throw") {
    bool flag = false;
    try {
        const Flagged flagged(flag);
        CHECK(flag);
        throw std::runtime_error("out");
    } catch (const std::runtime_error&) {
        CHECK_FALSE(flag);
    }
    CHECK_FALSE(flag);
}
