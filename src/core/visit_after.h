// Iterates over a map in portions: the caller continues from the last key, and the map may change in between.
#pragma once

#include <cstddef>

namespace muster {

// Calls visit(value) for the entries that come after the key `last`, at most `left` of them, and takes them off it.
// False when there are more.
template <class Map, class Visit>
bool visit_after(const Map& map, const typename Map::key_type& last, std::size_t& left, Visit& visit) {
    auto next = map.upper_bound(last);
    for (; next != map.end() && left > 0; ++next, --left) visit(next->second);
    return next == map.end();
}

}  // namespace muster
