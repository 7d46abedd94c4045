// The names by which timers are cancelled, paused and resumed together (T-2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

namespace muster {

// Keeps the names; the timers of a group are linked by their owner, from `first` to `last`.
//
// A name without timers is kept for its next use, so that a name in steady use takes no memory. Once there are more
// than `empty_max` of them they are swept, so that names made up on the fly do not pile up. A paused name is kept.
class TimerGroups {
public:
    using Index = std::uint32_t;
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    static constexpr std::size_t empty_max = 1'024;

    struct Group {
        std::string name;
        std::uint32_t first = none;
        std::uint32_t last = none;
        std::size_t size = 0;  // timers in it
        bool paused = false;
        bool in_empty = false;  // waits in the list of groups to sweep
    };

    TimerGroups() { empty_.reserve(empty_max + 1); }

    // The group of that name, or none.
    Index find(std::string_view name) const;
    // The same; a new one when there is none yet.
    Index find_or_add(std::string_view name);

    Group& operator[](Index group) { return groups_[group]; }
    const Group& operator[](Index group) const { return groups_[group]; }

    // Call when a group may have become empty: without timers and not paused.
    void release(Index group);

    // Names known, with timers or without.
    std::size_t size() const { return by_name_.size(); }

private:
    void sweep();

    std::deque<Group> groups_;  // a group never moves: by_name_ looks into its name
    boost::unordered_flat_map<std::string_view, Index> by_name_;
    std::vector<Index> empty_;  // groups that were empty once since the last sweep
    std::vector<Index> free_;
};

}  // namespace muster
