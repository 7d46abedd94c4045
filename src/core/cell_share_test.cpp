#include "core/cell_share.h"

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("N-8: a cell alone may give every number") {
    const CellShare share = share_of({CellPlan{}}, "main");
    CHECK(share.server_ids == NumberShare{});
    CHECK(share.accounts == NumberShare{});
}

TEST_CASE("N-8: cells share the numbers without a gap or a number of two, and only those with players give accounts") {
    const std::vector<RegionId> eu{RegionId(2)};
    const std::vector<RegionId> us{RegionId(0)};
    const CellPlans plans{{"eu", eu, false}, {"people-0", std::vector<RegionId>{}, true}, {"us", us, true}};
    CHECK(share_of(plans, "eu").server_ids.first == 1);
    CHECK(share_of(plans, "people-0").server_ids.first == share_of(plans, "eu").server_ids.below);
    CHECK(share_of(plans, "us").server_ids.first == share_of(plans, "people-0").server_ids.below);
    CHECK(share_of(plans, "us").server_ids.below == NumberShare{}.below);
    CHECK_FALSE(share_of(plans, "eu").accounts.contains(1));
    CHECK(share_of(plans, "people-0").accounts.contains(1));
    CHECK(share_of(plans, "us").accounts.first == share_of(plans, "people-0").accounts.below);
    CHECK(share_of(plans, "us").accounts.below == NumberShare{}.below);
}

TEST_CASE("N-8: the parts of as many cells as there may be are whole blocks of numbers") {
    for (std::size_t place = 0; place < 64; ++place) {
        const NumberShare part = part_of_numbers(place, 64);
        CHECK(part.below - part.first >= 33'000'000);
        if (place > 0) CHECK(part.first == part_of_numbers(place - 1, 64).below);
    }
}
