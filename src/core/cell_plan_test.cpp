#include "core/cell_plan.h"

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("N-7: a plan of cells is told by names, regions and players") {
    CHECK(text_of({CellPlan{}}) == "main (all regions, players)");
    const std::vector<RegionId> two{RegionId(2), RegionId(9)};
    const std::vector<RegionId> three{RegionId(0), RegionId(1), RegionId(3)};
    CHECK(text_of({{"eu", two, false}, {"people", std::vector<RegionId>{}, true}, {"us", three, true}}) ==
          "eu (regions 2 and 9), people (players), us (regions 0, 1 and 3, players)");
    CHECK(text_of({{"eu", std::vector<RegionId>{RegionId(2)}, false}}) == "eu (region 2)");
}
