#include "base/system_clock.h"

#include <ctime>

#include "base/check.h"

namespace muster {

Time SystemClock::now() const {
    return Time(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

UnixMs SystemClock::wall() const {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return UnixMs{std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count()};
}

Duration SystemClock::thread_cpu() const {
    timespec used{};
    MUSTER_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0, "every thread has a CPU clock");
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace muster
