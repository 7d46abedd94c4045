// The Unix time that Muster puts on the wire. It never goes backwards, whatever the machine's date does.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace muster {

// Game thread only.
//
// The machine's date at start plus monotonic time. A forward step of the machine's date is followed at once. After a
// backward step the issued time stands still for at most `stand_still_max`, then runs at half speed until both agree
// again.
class IssuedTime {
public:
    static constexpr std::chrono::milliseconds step_least{500};
    static constexpr std::chrono::milliseconds stand_still_max{1'000};

    IssuedTime(Time now, UnixMs wall);

    // Compares with the machine's date. Call about once a second; returns true when a step of at least `step_least` was
    // seen.
    bool observe(Time now, UnixMs wall);

    // The time to issue at `now`; never less than any issued before.
    UnixMs at(Time now) { return UnixMs{us_at(now) / 1'000}; }
    // The same in microseconds.
    std::int64_t us_at(Time now);

    std::uint64_t steps_seen() const { return steps_seen_; }

private:
    // The machine's date comes in whole milliseconds: less than this is no difference, only rounding.
    static constexpr std::chrono::milliseconds difference_least{2};

    // Where the machine's date would put `now`, by the observation that counts.
    std::int64_t target_us(Time now) const;

    Time observed_at_;
    UnixMs observed_wall_;
    Time last_at_;
    std::int64_t last_us_;
    Duration fraction_{0};     // running time not yet turned into a whole issued microsecond
    Duration stood_still_{0};  // how long the present lead has been standing still
    std::uint64_t steps_seen_ = 0;
};

}  // namespace muster
