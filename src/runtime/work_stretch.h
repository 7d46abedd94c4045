// How long a thread stood still while it had work to do (L-8).
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/time.h"

namespace muster {

// A thread at work takes as long by the clock as by its own CPU time, give or take what others take from it. What it
// takes more than that, it stood still: SIGSTOP, a debugger, a suspended VM. It does not matter where in the stretch.
//
// Used by one thread. The clock outlives it.
class WorkStretch {
public:
    // A thread that stood still for longer was stopped; for less, it only waited for its turn on a busy machine.
    static constexpr std::chrono::seconds gap_least{1};

    explicit WorkStretch(const Clock& clock) : clock_(clock) {}

    // Work begins; `now` was just read from the clock. The thread's CPU time is a system call: a reading that is a
    // little older does as well, as if the thread had worked since. If it slept, the stretch seems so much more idle.
    void begin(Time now) {
        if (!began_ || now - cpu_read_ >= cpu_age_max) {
            cpu_ = clock_.thread_cpu();
            cpu_read_ = now;
        }
        began_ = now;
    }

    // How long the thread stood still from the beginning of its work until `now`, just read from the clock. Short
    // stretches count as work: they are not worth a system call.
    Duration stood_still(Time now) const {
        if (!began_ || now - *began_ <= short_stretch) return Duration::zero();
        const Duration worked = clock_.thread_cpu() - cpu_ - (*began_ - cpu_read_);
        return std::clamp(now - *began_ - worked, Duration::zero(), now - *began_);
    }

private:
    static constexpr std::chrono::milliseconds short_stretch{100};
    static constexpr std::chrono::milliseconds cpu_age_max{20};  // beside the second of a gap

    const Clock& clock_;
    std::optional<Time> began_;
    Duration cpu_{0};
    Time cpu_read_{};
};

}  // namespace muster
