// The numbers that a cell may give, so that no two cells of a cluster ever give the same one (N-8).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/cell_plan.h"

namespace muster {

// From `first` on, and below `below`. By itself: all that there are.
struct NumberShare {
    std::int32_t first = 1;
    std::int32_t below = std::numeric_limits<std::int32_t>::max();

    bool contains(std::int32_t number) const { return number >= first && number < below; }
    friend bool operator==(const NumberShare&, const NumberShare&) = default;
};

// The part of that place among so many parts of equal size; the last has what is left over, too.
inline NumberShare part_of_numbers(std::size_t place, std::size_t parts) {
    const NumberShare all;
    const auto width = (all.below - all.first) / static_cast<std::int32_t>(parts);
    const std::int32_t first = all.first + static_cast<std::int32_t>(place) * width;
    return {first, place + 1 == parts ? all.below : first + width};
}

struct CellShare {
    NumberShare server_ids{};
    NumberShare accounts{};  // that names get in open mode; none of them: without players
};

// Of a cell of the plan, by its place among the others: the plan stands once the store has it.
inline CellShare share_of(const CellPlans& plans, std::string_view cell) {
    const auto own = std::ranges::find(plans, cell, &CellPlan::name);
    const auto has_players = [](const CellPlan& plan) { return plan.players; };
    const auto place = static_cast<std::size_t>(own - plans.begin());
    const auto place_of_players = static_cast<std::size_t>(std::count_if(plans.begin(), own, has_players));
    const auto with_players = static_cast<std::size_t>(std::ranges::count_if(plans, has_players));
    return {part_of_numbers(place, plans.size()),
            own->players ? part_of_numbers(place_of_players, with_players) : NumberShare{1, 1}};
}

}  // namespace muster
