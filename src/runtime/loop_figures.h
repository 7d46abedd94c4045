// The loop's figures at one moment, for metrics and the API: plain values, no reference to the loop (L-6).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "runtime/pass_budget.h"

namespace muster {

// How many ticks took at most each bound, since the start. The last entry counts all of them.
struct TickHistogram {
    static constexpr std::array<std::chrono::microseconds, 14> bounds = {
        std::chrono::microseconds(50),      std::chrono::microseconds(100),       std::chrono::microseconds(250),
        std::chrono::microseconds(500),     std::chrono::microseconds(1'000),     std::chrono::microseconds(2'500),
        std::chrono::microseconds(5'000),   std::chrono::microseconds(10'000),    std::chrono::microseconds(25'000),
        std::chrono::microseconds(50'000),  std::chrono::microseconds(100'000),   std::chrono::microseconds(250'000),
        std::chrono::microseconds(500'000), std::chrono::microseconds(1'000'000),
    };
    std::array<std::uint64_t, bounds.size() + 1> at_most{};
    Duration sum{0};
};

// A tick is one pass of the loop.
struct LoopFigures {
    struct Queue {
        std::string name;
        std::size_t depth = 0;
    };

    // Over the last 10 s. Work units are messages, timers and events.
    double tick_duration_avg_ms = 0;
    double tick_duration_max_ms = 0;
    double tick_duration_deviation_ms = 0;
    double work_units_avg = 0;

    // Since the start.
    std::uint64_t ticks = 0;
    std::uint64_t idle_sleeps = 0;
    std::uint64_t messages_handled = 0;
    std::uint64_t timers_fired = 0;
    std::uint64_t events_handled = 0;
    std::uint64_t events_dropped = 0;
    std::uint64_t overruns = 0;
    std::uint64_t failed_ticks = 0;
    std::uint64_t gaps = 0;
    double gap_seconds = 0;
    std::array<std::uint64_t, handler_kinds> callback_errors{};  // by HandlerKind
    TickHistogram tick_durations;

    // Now.
    std::size_t timers_outstanding = 0;
    std::size_t events_waiting = 0;
    std::vector<Queue> queues;  // in the order of their priority
};

}  // namespace muster
