// A clock that stands still until it is moved. Tests and the simulator run whole days on it in milliseconds.
#pragma once

#include "base/check.h"
#include "base/time.h"

namespace muster {

// One thread only.
class VirtualClock final : public Clock {
public:
    explicit VirtualClock(UnixMs wall = UnixMs{1'700'000'000'000}) : wall_(wall) {}

    Time now() const override { return now_; }
    UnixMs wall() const override { return wall_; }

    // Less than now() by the time for which the process was stopped.
    Duration thread_cpu() const override { return now_.time_since_epoch() - stood_still_; }

    // Moves both time lines forward. The threads count as having worked all that time.
    void advance(Duration by) {
        MUSTER_CHECK(by >= Duration::zero(), "time does not run backwards");
        now_ += by;
        since_wall_moved_ += by;
        const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(since_wall_moved_);
        wall_.value += whole.count();
        since_wall_moved_ -= whole;
    }
    void advance_to(Time to) { advance(to - now_); }

    // The process is stopped for this long: time passes, and no thread uses CPU time.
    void stand_still(Duration by) {
        advance(by);
        stood_still_ += by;
    }

    // For so long before now the process was stopped: that time has passed, and no thread used CPU time.
    void was_stopped(Duration by) { stood_still_ += by; }

    // Somebody set the machine's date: the wall clock steps, monotonic time does not.
    void step_wall(std::chrono::milliseconds by) { wall_.value += by.count(); }

private:
    Time now_{std::chrono::hours(1)};
    UnixMs wall_;
    Duration since_wall_moved_{0};
    Duration stood_still_{0};
};

}  // namespace muster
