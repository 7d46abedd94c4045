// The name of a timer: small, cheap to copy, and never that of two live timers at once (T-6).
#pragma once

#include <compare>
#include <cstdint>

#include <fmt/core.h>

namespace muster {

// The timer's slot, and which user of that slot it is. A slot is used again, with another generation.
struct TimerId {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;  // 0 names no timer
    friend constexpr auto operator<=>(const TimerId&, const TimerId&) = default;
};

}  // namespace muster

// As the log shows it: index.generation.
template <>
struct fmt::formatter<muster::TimerId> {
    constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
    auto format(const muster::TimerId& id, fmt::format_context& context) const {
        return fmt::format_to(context.out(), "{}.{}", id.index, id.generation);
    }
};
