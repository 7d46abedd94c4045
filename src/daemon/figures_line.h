// The line that the log gets every few seconds: how many players, how the loop does (P-9).
#pragma once

#include <cstdint>

#include "base/log.h"
#include "base/time.h"
#include "core/core.h"
#include "runtime/game_loop.h"

namespace muster {

// Game thread only. All of them outlive it.
class FiguresLine {
public:
    FiguresLine(Log& log, GameLoop& loop, const Core& core, Duration interval);
    FiguresLine(const FiguresLine&) = delete;
    FiguresLine& operator=(const FiguresLine&) = delete;

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
