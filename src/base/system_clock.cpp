#include "base/system_clock.h"

namespace muster {

Time SystemClock::now() const {
    return Time(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

UnixMs SystemClock::wall() const {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return UnixMs{std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count()};
}

}  // namespace muster
