#include "sim/stable_array.h"

#include <array>
#include <vector>

#include <doctest/doctest.h>

using namespace muster::sim;

TEST_CASE("a stable array grows by one, and its entries stay where they are with what they hold") {
    StableArray<std::array<int, 3>> array;
    CHECK(array.size() == 0);
    std::vector<const void*> places;
    for (int i = 0; i < 5'000; ++i) {
        array.append()[1] = i;
        places.push_back(&array[static_cast<std::size_t>(i)]);
    }
    CHECK(array.size() == 5'000);
    bool same = true;
    for (std::size_t i = 0; i < places.size(); ++i)
        same = same && &array[i] == places[i] && array[i][1] == static_cast<int>(i) && array[i][0] == 0;
    CHECK(same);
}

TEST_CASE("a stable array takes entries of any size") {
    StableArray<std::array<char, 5'000>> large;
    StableArray<char> small;
    for (int i = 0; i < 20; ++i) {
        large.append().back() = static_cast<char>(i);
        small.append() = static_cast<char>(i);
    }
    CHECK(large[19].back() == 19);
    CHECK(small[19] == 19);
}
