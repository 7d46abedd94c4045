// Timers on a clock that the test moves, without a loop around them.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/virtual_clock.h"
#include "runtime/loop_fixture.h"
#include "runtime/loop_time.h"
#include "runtime/pass_budget.h"
#include "runtime/timers.h"

namespace muster {

struct TimersFixture {
    using Heard = std::vector<std::string>;

    // A callback that leaves a note in `heard`.
    auto note(std::string what) {
        return [this, what = std::move(what)](const TimerFired&) { heard.push_back(what); };
    }

    // One pass at the clock's time, that fires at most so many; returns how many.
    std::size_t pass(std::size_t most = 1'000'000) {
        const Pass begun = time.begin_pass(clock.now());
        PassBudget budget(clock);
        budget.begin_pass(begun.now);
        budget.begin_phase({most, most, begun.now});
        timers.begin_pass(begun);
        const std::size_t fired = timers.run_due(begun, budget);
        time.end_pass();
        return fired;
    }

    // Moves the time, then makes one pass.
    void after(Duration by) {
        clock.advance(by);
        pass();
    }

    VirtualClock clock;
    KeptLines kept;
    Log log{clock, kept};
    LoopTime time{clock};
    Timers timers{time, log};
    Heard heard;
};

}  // namespace muster
