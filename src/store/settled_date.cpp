#include "store/settled_date.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/planted.h"

namespace muster {

UnixMs SettledDate::observe(Time now, UnixMs wall) {
    const auto in_ms = [](Duration duration) {
        return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
    };
    const UnixMs expected{date_.value + in_ms(now - at_)};
    if (wall.value - expected.value > in_ms(step_max)) {
        // Another date than the one that was ahead before has to last by itself.
        const std::int64_t off = ahead_ ? wall.value - ahead_->date.value - in_ms(now - ahead_->at) : 0;
        const bool runs_on = ahead_ && std::abs(off) <= in_ms(step_max);
        ahead_ = Ahead{.since = runs_on ? ahead_->since : now, .at = now, .date = wall};
        if (now - ahead_->since < believed_after && !planted(Bug::date_believed_at_once)) return expected;
    }
    ahead_.reset();
    at_ = now;
    date_ = wall;
    return wall;
}

bool LastedDate::add(UnixMs written) {
    if (!latest_) {
        latest_ = last_added_ = written;
        return true;
    }
    const std::chrono::milliseconds step(last_added_.value - written.value);
    last_added_ = written;
    if (step < -SettledDate::step_max) {
        came_back_ -= step;
    } else if (step > SettledDate::step_max) {
        const std::chrono::milliseconds over = std::min(step, came_back_);
        came_back_ -= over;
        // What is left of it is a jump, or the time that passed until the date came back.
        if (step - over > SettledDate::step_max) latest_->value -= (step - over).count();
    } else {
        seen_ += std::clamp<std::chrono::milliseconds>(step, std::chrono::milliseconds{0}, quiet_max);
    }
    return seen_ < SettledDate::believed_after;
}

}  // namespace muster
