// A number that all processes of one life carry, whatever they do with their environment, session or parents.
//
// It is their limit of real-time CPU, which processes inherit and hardly ever set: some 35 years and a few
// microseconds, so that it limits nobody. Where there are no cgroups, it tells whose child a process is that has hidden
// all else.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster {

std::uint64_t life_mark(std::string_view life);

// Whether every mark can be set. Not when the agent runs under a lower hard limit of real-time CPU and may not raise
// it.
bool can_carry_marks();

// In the child, after the fork: allocates nothing. Without effect where it cannot.
void carry_mark(std::uint64_t mark);

// The mark of that process; none when it has none, or is gone.
std::optional<std::uint64_t> mark_of(std::int32_t pid);

}  // namespace muster
