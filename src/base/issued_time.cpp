#include "base/issued_time.h"

#include <algorithm>

namespace muster {
using std::chrono::duration_cast;
using std::chrono::microseconds;

IssuedTime::IssuedTime(Time now, UnixMs wall)
    : observed_at_(now), observed_wall_(wall), last_at_(now), last_us_(wall.value * 1'000) {}

bool IssuedTime::observe(Time now, UnixMs wall) {
    us_at(now);
    const microseconds drift(wall.value * 1'000 - target_us(now));
    if (abs(drift) < difference_least) return false;
    observed_at_ = now;
    observed_wall_ = wall;
    const bool stepped = abs(drift) >= step_least;
    if (stepped) ++steps_seen_;
    return stepped;
}

std::int64_t IssuedTime::us_at(Time now) {
    const Duration passed = now - last_at_;
    if (passed <= Duration::zero()) return last_us_;
    last_at_ = now;

    const std::int64_t goal = target_us(now);
    if (goal >= last_us_) {
        last_us_ = goal;
        fraction_ = Duration::zero();
        stood_still_ = Duration::zero();
        return last_us_;
    }

    // We are ahead of the machine's date: stand still first, then let it catch up by running at half speed.
    const Duration still = std::min(passed, Duration(stand_still_max) - stood_still_);
    stood_still_ += still;
    fraction_ += (passed - still) / 2;
    const auto whole = duration_cast<microseconds>(fraction_);
    fraction_ -= whole;
    last_us_ += whole.count();
    return last_us_;
}

std::int64_t IssuedTime::target_us(Time now) const {
    return observed_wall_.value * 1'000 + duration_cast<microseconds>(now - observed_at_).count();
}

}  // namespace muster
