// What the passes of a loop cost, recently and in total (L-6).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "runtime/loop_figures.h"
#include "runtime/pass_budget.h"

namespace muster {

struct PassCost {
    Time ended;
    Duration took{0};
    std::size_t messages = 0;
    std::size_t timers = 0;
    std::size_t events = 0;
    std::size_t work_units() const { return messages + timers + events; }
};

// Loop thread only. A pass costs a few additions: recent figures are kept per second, in a ring.
class PassFigures {
public:
    // Averages reach back over the present second and those before it, so many in all.
    static constexpr std::chrono::seconds window{10};

    void pass_ended(const PassCost& pass);
    void slept() { ++idle_sleeps_; }
    void overran() { ++overruns_; }
    void pass_failed() { ++failed_; }
    void stood_still(Duration gap);
    void callback_failed(HandlerKind kind) { ++callback_errors_[static_cast<std::size_t>(kind)]; }

    // All that the passes told. What timers, events and queues know is for the loop to fill in.
    LoopFigures figures(Time now) const;

private:
    struct Second {
        std::int64_t number = -1;  // since the clock's beginning; −1 while unused
        std::uint64_t ticks = 0;
        std::uint64_t work_units = 0;
        double sum_ms = 0;
        double sum_of_squares = 0;
        double max_ms = 0;
    };

    Second& second_at(Time now);

    std::array<Second, static_cast<std::size_t>(window.count())> seconds_{};
    std::array<std::uint64_t, TickHistogram::bounds.size() + 1> by_duration_{};  // the last: longer than all bounds
    Duration sum_{0};
    std::uint64_t ticks_ = 0;
    std::uint64_t messages_ = 0;
    std::uint64_t timers_ = 0;
    std::uint64_t events_ = 0;
    std::uint64_t idle_sleeps_ = 0;
    std::uint64_t overruns_ = 0;
    std::uint64_t failed_ = 0;
    std::uint64_t gaps_ = 0;
    Duration stood_still_{0};
    std::array<std::uint64_t, handler_kinds> callback_errors_{};
};

}  // namespace muster
