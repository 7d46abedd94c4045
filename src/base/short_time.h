// A timestamp in four bytes, for what is stored a million times.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace muster {

// The lower 32 bits of the milliseconds, rounded up so that no deadline counted from it is early. The caller supplies
// the present time to restore the upper bits: the timestamp is at most `past_max` ago, or some days ahead.
struct ShortTime {
    static constexpr std::chrono::milliseconds past_max = std::chrono::hours(40 * 24);

    std::uint32_t ms = 0;

    ShortTime() = default;
    explicit ShortTime(Time time)
        : ms(static_cast<std::uint32_t>(
              std::chrono::ceil<std::chrono::milliseconds>(time.time_since_epoch()).count())) {}

    Time seen_from(Time now) const {
        const auto earliest = std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()) - past_max;
        const auto after = ms - static_cast<std::uint32_t>(earliest.count());
        return Time(earliest + std::chrono::milliseconds(after));
    }
};

}  // namespace muster
