#include "base/planted.h"

#include <doctest/doctest.h>

using namespace muster;

#ifndef MUSTER_ZOO
namespace {

// Each is known not to be there before the program runs.
#define MUSTER_BUG(name, breaks, wrong) static_assert(!planted(Bug::name));
#include "base/planted_bugs.inc"
#undef MUSTER_BUG

}  // namespace

TEST_CASE("the zoo: a build for use has none of the planted bugs, whatever the environment says") {
    constexpr bool any = planted(Bug::none);
    CHECK_FALSE(any);
}
#endif
