// Which processes of this machine belong to a life: those that carry its id in their environment, or its mark.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// The variable that holds the id.
inline constexpr const char* life_variable = "MUSTER_LIFE";

// What has emptied its environment still carries the mark.
bool belongs_to_life(std::int32_t pid, std::string_view life);

struct LifeMember {
    std::int32_t pid = 0;
    std::string life{};
};
// All processes of these lives but for this one itself and `others`, whose lives are known to be none of these. One
// look at each process of the machine, however many lives.
std::vector<LifeMember> members_of(const std::set<std::string>& lives, const std::set<std::int32_t>& others);

}  // namespace muster
