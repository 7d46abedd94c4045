// Why a timer was refused (T-2). The text is for the programmer who asked for it.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

enum class TimerError : std::uint8_t {
    delay_too_short,
    delay_too_long,
    interval_too_short,
    interval_too_long,
    empty_group_name,
    empty_callback,
    unknown_timer,
};

constexpr std::string_view to_string(TimerError error) {
    switch (error) {
        case TimerError::delay_too_short:
            return "A timer's delay must be at least 1 ms";
        case TimerError::delay_too_long:
            return "A timer's delay must be at most 30 days";
        case TimerError::interval_too_short:
            return "A repeating timer's interval must be at least 1 ms";
        case TimerError::interval_too_long:
            return "A repeating timer's interval must be at most 30 days";
        case TimerError::empty_group_name:
            return "A timer group's name must not be empty";
        case TimerError::empty_callback:
            return "A timer's callback must not be empty";
        case TimerError::unknown_timer:
            return "There is no such timer";
    }
    return "unknown";
}

}  // namespace muster
