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

PaceRecord RestartPace::record(Moment at) const {
    PaceRecord record{.next = next_, .crash_loop = crash_loop_};
    for (const Time each : failures_) {
        const auto ago = std::chrono::duration_cast<std::chrono::milliseconds>(at.now - each);
        record.failures.push_back(UnixMs{at.wall.value - ago.count()});
    }
    return record;
}

RestartPace RestartPace::of(const PaceRecord& record, Moment at) {
    RestartPace pace;
    pace.next_ = std::clamp(record.next, first_pause, longest_pause);
    pace.crash_loop_ = record.crash_loop;
    for (const UnixMs each : record.failures) {
        const std::int64_t ago = at.wall.value - each.value;
        if (ago < 0 || std::chrono::milliseconds(ago) >= crash_loop_window) continue;
        pace.failures_.push_back(at.now - std::chrono::milliseconds(ago));
    }
    std::sort(pace.failures_.begin(), pace.failures_.end());
    while (pace.failures_.size() > crash_loop_failures) pace.failures_.pop_front();
    return pace;
}

}  // namespace muster
