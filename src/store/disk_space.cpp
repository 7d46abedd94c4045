#include "store/disk_space.h"

#include <sys/statvfs.h>

namespace muster {

DiskSpace disk_space(const std::string& path) {
    struct statvfs found{};
    if (statvfs(path.c_str(), &found) != 0) return {};
    const auto block = static_cast<std::int64_t>(found.f_frsize);
    return {static_cast<std::int64_t>(found.f_bavail) * block, static_cast<std::int64_t>(found.f_blocks) * block};
}

}  // namespace muster
