// How much room there is on the disk that holds a file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

namespace muster {

struct DiskSpace {
    std::int64_t free_bytes = std::numeric_limits<std::int64_t>::max();  // for a program without privileges
    std::int64_t total_bytes = std::numeric_limits<std::int64_t>::max();

    // With less than this the disk is nearly full.
    std::int64_t reserve_bytes() const { return std::min<std::int64_t>(std::int64_t{256} << 20, total_bytes / 20); }
};

// A disk that cannot be queried counts as having unlimited space.
DiskSpace disk_space(const std::string& path);

}  // namespace muster
