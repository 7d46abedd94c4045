#include "daemon/figures_line.h"

#include <cmath>
#include <utility>
namespace muster {

FiguresLine::FiguresLine(Log& log, GameLoop& loop, const Core& core, Duration interval)
    : log_(log), loop_(loop), core_(core), last_(loop.time().now()) {
    loop_.timers().start({.first_delay = interval, .interval = interval, .base = TimeBase::real},
                         [this](const TimerFired& fired) { write(fired.pass.now); });
}

void FiguresLine::write(Time now) {
    const LoopFigures loop = loop_.figures();
    const double seconds = to_seconds(now - std::exchange(last_, now));
    const auto ticks = loop.ticks - std::exchange(ticks_, loop.ticks);
    const auto messages = loop.messages_handled - std::exchange(messages_, loop.messages_handled);
    log_.info("Server: {} players, {:.1f} TPS, {:.2f}ms avg tick, {} msg/s", core_.players().figures().connected,
              static_cast<double>(ticks) / seconds, loop.tick_duration_avg_ms,
              std::llround(static_cast<double>(messages) / seconds));
}

}  // namespace muster
