#include "sim/id_map.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/ids.h"
#include "base/random.h"

using namespace muster;
using namespace muster::sim;

namespace {

using Names = IdMap<LobbyId, std::string>;

std::map<LobbyId, std::string> sorted(const Names& names) {
    std::map<LobbyId, std::string> found;
    for (const auto& [id, name] : names) CHECK(found.emplace(id, name).second);
    return found;
}

}  // namespace

TEST_CASE("invariant 21: a map by number holds what a std::map holds, after any calls") {
    Random random(7);
    Names names;
    std::map<LobbyId, std::string> expected;
    for (int i = 0; i < 20'000; ++i) {
        // Close together, far apart, and negative ones: peers may send any number.
        const auto spread = static_cast<std::int32_t>(random.chance(0.5) ? 1 : 1 << 20);
        const LobbyId id(static_cast<std::int32_t>(random.between(-20, 60)) * spread);
        const std::string name = std::to_string(i);
        switch (random.below(6)) {
            case 0:
                names[id] = expected[id] = name;
                break;
            case 1:
                CHECK(names.try_emplace(id, name).second == expected.try_emplace(id, name).second);
                break;
            case 2:
                CHECK(names.erase(id) == expected.erase(id));
                break;
            case 3: {
                const auto taken = names.extract(id);
                const auto known = expected.extract(id);
                REQUIRE(taken.has_value() == !known.empty());
                if (taken) CHECK(*taken == known.mapped());
                break;
            }
            case 4:
                if (!random.chance(0.01)) break;
                names.clear();
                expected.clear();
                break;
            case 5: {
                const auto found = names.find(id);
                const auto known = expected.find(id);
                REQUIRE((found == names.end()) == (known == expected.end()));
                if (known != expected.end()) CHECK(found->second == known->second);
                CHECK(names.contains(id) == expected.contains(id));
                break;
            }
            default:
                break;
        }
        REQUIRE(names.size() == expected.size());
        if (i % 100 == 0) CHECK(sorted(names) == expected);
    }
    names.erase_if([](const auto& entry) { return entry.first.value % 2 == 0; });
    std::erase_if(expected, [](const auto& entry) { return entry.first.value % 2 == 0; });
    CHECK(sorted(names) == expected);
}

TEST_CASE("invariant 21: entries of a map by number stay where they are, and the same calls give the same order") {
    IdMap<std::uint32_t, int> first;
    IdMap<std::uint32_t, int> second;
    int* kept = &(first[3] = 30);
    second[3] = 30;
    for (std::uint32_t i = 100; i < 1'000; ++i) {
        first[i] = second[i] = static_cast<int>(i);
        if (i % 3 == 0) CHECK(first.erase(i - 50) == second.erase(i - 50));
    }
    CHECK(kept == &first.find(3)->second);
    CHECK(*kept == 30);
    CHECK(std::equal(first.begin(), first.end(), second.begin(), second.end()));
}

TEST_CASE("invariant 21: a map by number that was cleared begins anew") {
    IdMap<std::uint32_t, int> map;
    for (std::uint32_t i = 0; i < 50; ++i) map[i] = 1;
    for (std::uint32_t i = 0; i < 50; i += 2) map.erase(i);
    map.clear();
    CHECK(map.empty());
    CHECK(map.begin() == map.end());
    CHECK_FALSE(map.contains(1));
    for (std::uint32_t i = 7; i < 10; ++i) map[i] = 2;
    std::vector<std::uint32_t> order;
    for (const auto& [id, value] : map) order.push_back(id);
    CHECK(order == std::vector<std::uint32_t>{7, 8, 9});
}
