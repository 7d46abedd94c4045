// What time it is for the code on the loop's thread, on both of its time lines.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/check.h"
#include "base/time.h"
#include "runtime/pass.h"

namespace muster {

// `real` is plain monotonic time. `running` leaves out the gaps in which the whole process stood still; it is
// always the same whole number of milliseconds behind until the next gap.
enum class TimeBase : std::uint8_t { running, real };

// Inside a pass it is the time the pass began; between passes, as in set-up code, it is what the clock says.
// Loop thread only. The clock outlives it.
class LoopTime {
public:
    explicit LoopTime(const Clock& clock) : clock_(clock) {}

    Time now() const { return in_pass_ ? pass_.now : clock_.now(); }
    Time running() const { return now() - stood_still_; }
    // The pass under way; between passes, one that would begin now.
    Pass pass() const { return {now(), running(), pass_.number}; }
    Time now(TimeBase base) const { return base == TimeBase::running ? running() : now(); }

    // Where a point of the running time line lies in real time, as far as is known: the next gap will move it.
    Time real_time_of(Time running) const { return running + stood_still_; }

    // All gaps so far.
    Duration stood_still() const { return stood_still_; }

    // For the loop. `now` never goes backwards.
    const Pass& begin_pass(Time now) {
        pass_ = {now, now - stood_still_, pass_.number + 1};
        in_pass_ = true;
        return pass_;
    }
    void end_pass() { in_pass_ = false; }

    // For the loop, between passes: the process stood still for so long.
    void stand_still(std::chrono::milliseconds gap) {
        MUSTER_CHECK(!in_pass_ && gap >= gap.zero(), "a gap lies between two passes");
        stood_still_ += gap;
    }

private:
    const Clock& clock_;
    Pass pass_;
    bool in_pass_ = false;
    Duration stood_still_{0};
};

}  // namespace muster
