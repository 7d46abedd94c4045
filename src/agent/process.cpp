#include "agent/process.h"

#include "base/check.h"

namespace muster {

std::string_view to_string(ProcessState state) {
    switch (state) {
        case ProcessState::starting:
            return "starting";
        case ProcessState::ready:
            return "ready";
        case ProcessState::allocated:
            return "allocated";
        case ProcessState::unhealthy:
            return "unhealthy";
        case ProcessState::stopping:
            return "stopping";
        case ProcessState::backoff:
            return "backoff";
        case ProcessState::crash_loop:
            return "crash_loop";
        case ProcessState::stopped:
            return "stopped";
    }
    MUSTER_CHECK(false, "a process is in one of its states");
    return {};
}

}  // namespace muster
