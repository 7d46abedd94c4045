// The time in the game's world, which all players share.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster::sdk {

struct WorldTime {
    std::uint8_t day = 1;  // 1 Sunday to 7 Saturday
    std::uint8_t hour = 0;
    std::uint8_t minute = 0;

    friend constexpr bool operator==(const WorldTime&, const WorldTime&) = default;
};

// "Sun." for day 1 to "Sat." for day 7; empty for any other number.
constexpr std::string_view day_name(int day) {
    constexpr std::string_view names[] = {"Sun.", "Mon.", "Tue.", "Wed.", "Thu.", "Fri.", "Sat."};
    return day >= 1 && day <= 7 ? names[day - 1] : std::string_view("");
}

// From 20:00 on, and up to 8:59.
constexpr bool is_night(int hour) {
    return hour >= 20 || hour <= 8;
}

}  // namespace muster::sdk
