#include "base/entropy.h"

#include <algorithm>
#include <array>

#include <doctest/doctest.h>

TEST_CASE("K-1: the system's entropy fills all it is given, differently each time") {
    muster::SystemEntropy entropy;
    std::array<std::byte, 1000> first{};
    std::array<std::byte, 1000> second{};
    entropy.fill(first);
    entropy.fill(second);
    CHECK(first != second);
    // Any byte value missing among 2,000 would be no surprise; a zero tail would.
    CHECK(std::any_of(first.end() - 16, first.end(), [](std::byte b) { return b != std::byte{0}; }));
    entropy.fill({});
}
