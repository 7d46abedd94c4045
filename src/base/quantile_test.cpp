#include "base/quantile.h"

#include <vector>

#include <doctest/doctest.h>

TEST_CASE("A-13: a quantile lies in its bucket by proportion") {
    const std::vector<double> bounds{1, 2, 4};
    const auto of = [&](const std::vector<std::uint64_t>& counts, double share) {
        return muster::quantile(bounds, counts, share);
    };
    CHECK(of({10, 10, 0, 0}, 0.5) == doctest::Approx(1));
    CHECK(of({10, 10, 0, 0}, 0.75) == doctest::Approx(1.5));
    CHECK(of({10, 10, 0, 0}, 1.0) == doctest::Approx(2));
    CHECK(of({0, 10, 0, 0}, 0.1) == doctest::Approx(1.1));
    CHECK(of({0, 0, 0, 5}, 0.5) == doctest::Approx(4));  // above all bounds
    CHECK(of({0, 0, 0, 0}, 0.5) == 0);
    CHECK(muster::quantile({}, {}, 0.5) == 0);
}
