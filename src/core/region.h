// A place where game servers stand, as the config lists them.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"

namespace muster {

struct Region {
    RegionId id;
    std::string name;
};

using Regions = std::vector<Region>;

// As people read it: the region's name, or its number when there is no such region.
inline std::string name_of(const Regions& regions, RegionId id) {
    for (const Region& region : regions)
        if (region.id == id) return region.name;
    return std::to_string(id.value);
}

}  // namespace muster
