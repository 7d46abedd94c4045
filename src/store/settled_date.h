// The date by which the past is judged to be old. A date that jumps far ahead is believed only after it has lasted, so
// that a minute of a wrong date erases nothing (fault 18).
#pragma once

#include <chrono>
#include <optional>

#include "base/time.h"

namespace muster {

// One thread.
class SettledDate {
public:
    // A forward step up to this is followed at once; so is every backward one, by which nothing gets older.
    static constexpr std::chrono::hours step_max{1};
    // A larger one is followed when the date has run on for so long from where it jumped to.
    static constexpr std::chrono::minutes believed_after{10};

    // `known` is a date that has been: the latest that was written down.
    SettledDate(Time now, UnixMs known) : at_(now), date_(known) {}

    // Looks at the machine's date, at least about once a minute, and returns the date to judge by.
    UnixMs observe(Time now, UnixMs wall);

private:
    // A date that is ahead of the one believed.
    struct Ahead {
        Time since;
        Time at;  // when it was looked at last
        UnixMs date;
    };

    Time at_;  // when `date_` was the date
    UnixMs date_;
    std::optional<Ahead> ahead_;
};

// The date that had lasted when a store was left, by the dates of what was written: jumps ahead of the last ten minutes
// count for nothing, however many there were.
class LastedDate {
public:
    // The dates of the events, the latest first. False: it has seen enough.
    bool add(UnixMs written);
    // Nothing when nothing was added.
    std::optional<UnixMs> date() const { return latest_; }

private:
    // Between two events without a jump: more may have been a small step, or nothing happened for a while.
    static constexpr std::chrono::minutes quiet_max{1};

    std::optional<UnixMs> latest_;
    UnixMs last_added_;
    std::chrono::milliseconds seen_{0};
    std::chrono::milliseconds came_back_{0};  // of jumps that were over already
};

}  // namespace muster
