#include "store/settled_date.h"

#include <algorithm>

#include "base/planted.h"

namespace muster {

UnixMs SettledDate::observe(Time now, UnixMs wall) {
    const auto in_ms = [](Duration duration) {
        return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
    };
    const UnixMs expected{date_.value + in_ms(now - at_)};
    if (wall.value - expected.value > in_ms(step_max)) {
        if (!ahead_since_) ahead_since_ = now;
        if (now - *ahead_since_ < believed_after && !planted(Bug::date_believed_at_once)) return expected;
    }
    ahead_since_.reset();
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
