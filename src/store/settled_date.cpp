#include "store/settled_date.h"

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

}  // namespace muster
