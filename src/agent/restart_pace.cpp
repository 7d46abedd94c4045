#include "agent/restart_pace.h"

#include <algorithm>

namespace muster {

RestartPace::Pause RestartPace::failed(Time now, Duration ran) {
    lived(ran);
    failures_.push_back(now);
    while (failures_.front() <= now - crash_loop_window || failures_.size() > crash_loop_failures)
        failures_.pop_front();
    if (crash_loop_) return {crash_loop_pause, false};
    if (failures_.size() == crash_loop_failures) {
        crash_loop_ = true;
        return {crash_loop_pause, true};
    }
    const Duration pause = next_;
    next_ = std::min(2 * next_, longest_pause);
    return {pause, false};
}

void RestartPace::lived(Duration ran) {
    if (ran < good_life) return;
    next_ = first_pause;
    if (!crash_loop_) return;
    crash_loop_ = false;
    failures_.clear();
}

}  // namespace muster
