#include "base/uuid.h"

#include <doctest/doctest.h>

#include "base/seeded_entropy.h"

using namespace muster;

TEST_CASE("a random UUID says its version and differs from the next") {
    SeededEntropy entropy(1);
    const std::string first = random_uuid(entropy);
    REQUIRE(first.size() == 36);
    CHECK(first[8] == '-');
    CHECK(first[14] == '4');
    CHECK(std::string("89ab").find(first[19]) != std::string::npos);
    CHECK(first != random_uuid(entropy));
}
