#include "process/core_dumps.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <system_error>

namespace muster {

void disable_core_dumps() {
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_CORE, &none) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot set RLIMIT_CORE");
    // The limit alone does not hold where dumps are piped to a program.
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot set PR_SET_DUMPABLE");
}

}  // namespace muster
