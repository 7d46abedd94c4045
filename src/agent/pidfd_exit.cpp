#include "agent/pidfd_exit.h"

#include <sys/ioctl.h>
#include <sys/wait.h>

#include <cstdint>

namespace muster {
namespace {

// As <linux/pidfd.h> has it since 6.13; older headers do not.
struct PidfdInfo {
    std::uint64_t mask = 0;
    std::uint64_t cgroup = 0;
    std::uint32_t ids[11] = {};
    std::int32_t exit_status = 0;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr unsigned long get_info = _IOWR(0xFF, 11, PidfdInfo);
constexpr std::uint64_t exit_is_known = std::uint64_t{1} << 3;

}  // namespace

std::optional<ExitStatus> exit_by_pidfd(int pidfd) {
    PidfdInfo info{.mask = exit_is_known};
    if (ioctl(pidfd, get_info, &info) != 0 || (info.mask & exit_is_known) == 0) return std::nullopt;
    if (WIFSIGNALED(info.exit_status)) return ExitStatus{.signal = WTERMSIG(info.exit_status)};
    return ExitStatus{.code = WEXITSTATUS(info.exit_status)};
}

}  // namespace muster
