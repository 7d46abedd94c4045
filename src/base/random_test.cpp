#include "base/random.h"

#include <array>
#include <limits>

#include <doctest/doctest.h>

using muster::Random;

TEST_CASE("the same seed gives the same numbers, another seed others") {
    Random a(42);
    Random b(42);
    Random c(43);
    bool differs = false;
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t drawn = a.next();
        CHECK(drawn == b.next());
        differs |= drawn != c.next();
    }
    CHECK(differs);
}

TEST_CASE("the sequence of a seed is the same on every machine") {
    // xoshiro256** after splitmix64(0): seeds of recorded failures depend on this never changing.
    Random random(0);
    CHECK(random.next() == 0x99ec5f36cb75f2b4);
    CHECK(random.next() == 0xbf6e1f784956452a);
}

TEST_CASE("below and between stay in range and reach every value evenly") {
    Random random(7);
    std::array<int, 6> seen{};
    for (int i = 0; i < 60'000; ++i) ++seen[random.below(6)];
    for (const int count : seen) CHECK((count > 9'500 && count < 10'500));
    for (int i = 0; i < 1'000; ++i) {
        const auto n = random.between(-3, 3);
        CHECK((n >= -3 && n <= 3));
    }
    CHECK(random.between(5, 5) == 5);
    random.between(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("unit stays under 1 and chance keeps to its probability") {
    Random random(9);
    int hits = 0;
    for (int i = 0; i < 100'000; ++i) {
        const double u = random.unit();
        if (u < 0 || u >= 1) FAIL("out of range: " << u);
        hits += random.chance(0.25) ? 1 : 0;
    }
    CHECK((hits > 24'000 && hits < 26'000));
}
