// How a process ended that is nobody's child here, from the kernel itself.
#pragma once

#include <optional>

#include "agent/process.h"

namespace muster {

// Linux 6.15 and later tell it to whoever had a pidfd before, once its parent has collected it. None before that, and
// on older kernels always.
std::optional<ExitStatus> exit_by_pidfd(int pidfd);

}  // namespace muster
