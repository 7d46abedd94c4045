// The date by which the past is judged to be old. A date that jumps far ahead is believed only after it has lasted, so
// that a minute of a wrong date erases nothing (fault 18).
#pragma once

#include <optional>

#include "base/time.h"

namespace muster {

// One thread.
class SettledDate {
public:
    // A forward step up to this is followed at once; so is every backward one, by which nothing gets older.
    static constexpr std::chrono::hours step_max{1};
    // A larger one is followed when the date has been ahead for so long.
    static constexpr std::chrono::minutes believed_after{10};

    // `known` is a date that has been: the latest that was written down.
    SettledDate(Time now, UnixMs known) : at_(now), date_(known) {}

    // Looks at the machine's date, at least about once a minute, and returns the date to judge by.
    UnixMs observe(Time now, UnixMs wall);

private:
    Time at_;  // when `date_` was the date
    UnixMs date_;
    std::optional<Time> ahead_since_;
};

}  // namespace muster
