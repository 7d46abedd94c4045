#include "base/uuid.h"

#include <cstddef>

#include <doctest/doctest.h>

#include "base/seeded_entropy.h"

using namespace muster;

TEST_CASE("K-1: a UUID shows all of its random bytes but the six bits of its version") {
    struct Counting final : Entropy {
        void fill(std::span<std::byte> out) override {
            for (std::byte& byte : out) byte = std::byte(0x11 * ++count);
        }
        unsigned count = 0;
    } entropy;
    CHECK(random_uuid(entropy) == "11223344-5566-4788-99aa-bbccddeeff10");
}

TEST_CASE("a random UUID says its version and differs from the next") {
    SeededEntropy entropy(1);
    const std::string first = random_uuid(entropy);
    REQUIRE(first.size() == 36);
    CHECK(first[8] == '-');
    CHECK(first[14] == '4');
    CHECK(std::string("89ab").find(first[19]) != std::string::npos);
    CHECK(first != random_uuid(entropy));
}
