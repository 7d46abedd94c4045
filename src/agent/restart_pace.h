// How long to wait before a process that ended by itself is started again (G-5).
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <vector>

#include "agent/moment.h"
#include "base/time.h"

namespace muster {

// A pace as it is written down for the next agent, whose deadlines count from another start.
struct PaceRecord {
    std::vector<UnixMs> failures{};
    Duration next{};
    bool crash_loop = false;
};

// One for each process. After a failure 1 s, doubling to 60 s, from the start again after a life of 60 s. Five failures
// within five minutes are a crash loop: one try every five minutes, until a life lasts for 60 s.
class RestartPace {
public:
    static constexpr Duration first_pause = std::chrono::seconds(1);
    static constexpr Duration longest_pause = std::chrono::seconds(60);
    static constexpr Duration good_life = std::chrono::seconds(60);
    static constexpr std::size_t crash_loop_failures = 5;
    static constexpr Duration crash_loop_window = std::chrono::minutes(5);
    static constexpr Duration crash_loop_pause = std::chrono::minutes(5);

    struct Pause {
        Duration length{};
        bool crash_loop_began = false;  // true once for each crash loop
    };

    // The process ended, and nobody wished it, after a life of `ran`.
    Pause failed(Time now, Duration ran);
    // It has lived for `ran` and lives on: enough of that ends a crash loop.
    void lived(Duration ran);
    bool in_crash_loop() const { return crash_loop_; }
    // An operator wants to see it run: what was is forgotten.
    void reset() { *this = RestartPace(); }

    PaceRecord record(Moment at) const;
    // Whatever the record says, and however the clock was set since, the pauses are within their limits.
    static RestartPace of(const PaceRecord& record, Moment at);

private:
    std::deque<Time> failures_;  // within the window, at most crash_loop_failures
    Duration next_ = first_pause;
    bool crash_loop_ = false;
};

}  // namespace muster
