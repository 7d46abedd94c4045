// The line that the log gets every few seconds: how many players, how the loop does (P-9).
#pragma once

#include <cstdint>

#include "base/log.h"
#include "base/time.h"
#include "core/core.h"
#include "runtime/game_loop.h"

namespace muster {

// Game thread only. All of them outlive it.
class StatsLine {
public:
    StatsLine(Log& log, GameLoop& loop, const Core& core, Duration interval);
    StatsLine(const StatsLine&) = delete;
    StatsLine& operator=(const StatsLine&) = delete;

private:
    void write(Time now);

    Log& log_;
    GameLoop& loop_;
    const Core& core_;
    Time last_;
    std::uint64_t ticks_ = 0;
    std::uint64_t messages_ = 0;
};

}  // namespace muster
