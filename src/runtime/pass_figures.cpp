#include "runtime/pass_figures.h"

#include <algorithm>
#include <cmath>

namespace muster {
namespace {

std::int64_t second_number(Time now) {
    return std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
}

}  // namespace

void PassFigures::pass_ended(const PassCost& pass) {
    ++ticks_;
    messages_ += pass.messages;
    timers_ += pass.timers;
    events_ += pass.events;
    sum_ += pass.took;
    const auto bound = std::lower_bound(TickHistogram::bounds.begin(), TickHistogram::bounds.end(), pass.took);
    ++by_duration_[static_cast<std::size_t>(bound - TickHistogram::bounds.begin())];

    const double ms = to_milliseconds(pass.took);
    Second& second = second_at(pass.ended);
    ++second.ticks;
    second.work_units += pass.work_units();
    second.sum_ms += ms;
    second.sum_of_squares += ms * ms;
    second.max_ms = std::max(second.max_ms, ms);
}

void PassFigures::stood_still(Duration gap) {
    ++gaps_;
    stood_still_ += gap;
}

LoopFigures PassFigures::figures(Time now) const {
    Second lately;
    const std::int64_t oldest = second_number(now) - window.count() + 1;
    for (const Second& second : seconds_) {
        if (second.ticks == 0 || second.number < oldest) continue;
        lately.ticks += second.ticks;
        lately.work_units += second.work_units;
        lately.sum_ms += second.sum_ms;
        lately.sum_of_squares += second.sum_of_squares;
        lately.max_ms = std::max(lately.max_ms, second.max_ms);
    }

    LoopFigures shot;
    if (lately.ticks > 0) {
        const auto ticks = static_cast<double>(lately.ticks);
        const double avg = lately.sum_ms / ticks;
        shot.tick_duration_avg_ms = avg;
        shot.tick_duration_max_ms = lately.max_ms;
        // Rounding may take the difference just below zero.
        shot.tick_duration_deviation_ms = std::sqrt(std::max(0.0, lately.sum_of_squares / ticks - avg * avg));
        shot.work_units_avg = static_cast<double>(lately.work_units) / ticks;
    }
    shot.ticks = ticks_;
    shot.idle_sleeps = idle_sleeps_;
    shot.messages_handled = messages_;
    shot.timers_fired = timers_;
    shot.events_handled = events_;
    shot.overruns = overruns_;
    shot.failed_ticks = failed_;
    shot.gaps = gaps_;
    shot.gap_seconds = to_seconds(stood_still_);
    shot.callback_errors = callback_errors_;
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < by_duration_.size(); ++i) shot.tick_durations.at_most[i] = so_far += by_duration_[i];
    shot.tick_durations.sum = sum_;
    return shot;
}

PassFigures::Second& PassFigures::second_at(Time now) {
    const std::int64_t number = second_number(now);
    Second& second = seconds_[static_cast<std::size_t>(number) % seconds_.size()];
    if (second.number != number) second = {.number = number};
    return second;
}

}  // namespace muster
