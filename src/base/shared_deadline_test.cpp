#include "base/shared_deadline.h"

#include <chrono>

#include <doctest/doctest.h>

#include "base/time.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST_CASE("G-20: deadlines of one step are met together, none early and none a whole step late") {
    const Time start = Time(1000s);
    CHECK(shared_deadline(start, 100ms) == start);
    CHECK(shared_deadline(start + 1ns, 100ms) == start + 100ms);
    CHECK(shared_deadline(start + 100ms, 100ms) == start + 100ms);
    CHECK(shared_deadline(start + 100ms + 1ns, 100ms) == start + 200ms);
}

}  // namespace
}  // namespace muster
