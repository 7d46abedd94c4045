// For tests: what this thread has computed so far, which is what its work needs when nobody else wants the machine.
#pragma once

#include <chrono>
#include <ctime>

#include "base/time.h"

namespace muster {

inline Duration thread_cpu_time() {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace muster
