// What a mistyped name was most likely meant to be.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster {

// How many letters must be added, dropped, changed or swapped with their neighbour to turn one into the other. What is
// more than `most` is told as `most` + 1, and costs little.
std::size_t edit_distance(std::string_view one, std::string_view other, std::size_t most);

// The nearest of `known`, the first of them on a tie; none when nothing is near enough to be meant.
std::optional<std::string> nearest_name(std::string_view typed, std::span<const std::string> known);

// The same, when that is no more than so many edits away.
std::optional<std::string> nearest_name(std::string_view typed, std::span<const std::string> known, std::size_t most);

}  // namespace muster
