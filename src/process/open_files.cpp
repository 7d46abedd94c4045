#include "process/open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace muster {
namespace {

// More than any system grants: stands for "no limit".
constexpr rlim_t most = rlim_t{1} << 30;

}  // namespace

std::size_t raise_open_files_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot read RLIMIT_NOFILE");
    const rlimit raised{limit.rlim_max, limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
    return static_cast<std::size_t>(std::min(limit.rlim_cur, most));
}

}  // namespace muster
