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

}  // namespace muster
