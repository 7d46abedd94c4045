#include "base/issued_time.h"

#include <algorithm>

namespace muster {
using std::chrono::duration_cast;
using std::chrono::milliseconds;

IssuedTime::IssuedTime(Time now, UnixMs wall)
    : observed_at_(now), observed_wall_(wall), last_at_(now), last_ms_(wall.value) {}

bool IssuedTime::observe(Time now, UnixMs wall) {
    at(now);
    const std::int64_t expected = target(now);
    const std::int64_t drift = wall.value - expected;
    observed_at_ = now;
    observed_wall_ = wall;
    const bool stepped = drift >= step_least.count() || drift <= -step_least.count();
    if (stepped) ++steps_seen_;
    return stepped;
}

UnixMs IssuedTime::at(Time now) {
    const Duration passed = now - last_at_;
    if (passed <= Duration::zero()) return UnixMs{last_ms_};
    last_at_ = now;

    const std::int64_t goal = target(now);
    if (goal >= last_ms_) {
        last_ms_ = goal;
        fraction_ = Duration::zero();
        stood_still_ = Duration::zero();
        return UnixMs{last_ms_};
    }

    // We are ahead of the machine's date: stand still first, then let it catch up by running at half speed.
    const Duration still = std::min(passed, Duration(stand_still_max) - stood_still_);
    stood_still_ += still;
    fraction_ += (passed - still) / 2;
    const auto whole = duration_cast<milliseconds>(fraction_);
    fraction_ -= whole;
    last_ms_ += whole.count();
    // Never past the point where both meet.
    if (const std::int64_t met = target(now); whole.count() > 0 && last_ms_ < met) last_ms_ = met;
    return UnixMs{last_ms_};
}

std::int64_t IssuedTime::target(Time now) const {
    return observed_wall_.value + duration_cast<milliseconds>(now - observed_at_).count();
}

}  // namespace muster
