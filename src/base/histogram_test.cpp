#include "base/histogram.h"

#include <doctest/doctest.h>

TEST_CASE("A-13: a value falls into the first bucket whose bound is not below it") {
    muster::Histogram histogram({1, 2, 5});
    for (const double value : {0.5, 1.0, 1.5, 2.0, 5.0, 5.1, 100.0}) histogram.observe(value);
    CHECK(std::vector(histogram.counts().begin(), histogram.counts().end()) == std::vector<std::uint64_t>{2, 2, 1, 2});
    CHECK(histogram.count() == 7);
    CHECK(histogram.sum() == doctest::Approx(115.1));
}
