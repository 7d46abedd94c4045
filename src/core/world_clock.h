// The world's calendar: which minute of which day it is in the game (C-1, C-4).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "core/records.h"

namespace muster {

// What a clock in the world shows.
struct GameTime {
    std::uint8_t day = 1;  // 1 is Sunday, 7 Saturday
    std::uint8_t hour = 0;
    std::uint8_t minute = 0;
    friend constexpr bool operator==(const GameTime&, const GameTime&) = default;
};

constexpr bool is_game_time(int day, int hour, int minute) {
    return day >= 1 && day <= 7 && hour >= 0 && hour <= 23 && minute >= 0 && minute <= 59;
}

// Minutes since a Sunday 00:00. They go on counting over the weeks, until the clock is set.
using GameMinute = std::int64_t;

GameTime game_time_of(GameMinute minute);
// The minute of the first week that shows this time.
GameMinute minute_of(const GameTime& time);

// A pure function of the time since a moment that is known, and the speed: it cannot drift, at any speed. Real time,
// not running time: the world goes on while the process stands still.
class WorldClock {
public:
    static constexpr std::int32_t speed_max = 3'600;

    // Shows `start` at `now`.
    WorldClock(Time now, const GameTime& start, std::int32_t speed);
    // Goes on from where it stood.
    WorldClock(Time now, const ClockRecord& stored, std::int32_t speed);

    std::int32_t speed() const { return speed_; }

    GameMinute minute_at(Time now) const;
    GameTime at(Time now) const { return game_time_of(minute_at(now)); }
    // When that minute begins: the first moment at which minute_at() gives it.
    Time begin_of(GameMinute minute) const;

    // Shows another time from now on, or goes at another speed.
    void set(Time now, const GameTime& time);
    void set_speed(Time now, std::int32_t speed);

    ClockRecord record(Time now) const;
    // How far what it shows at `now` is from that, in real time; from Saturday to Sunday is not far.
    Duration difference(Time now, const ClockRecord& other) const;

private:
    // Game nanoseconds outgrow 64 bits within a month at the highest speed.
    __extension__ using Wide = __int128;
    Wide elapsed_at(Time now) const;

    Time known_at_;
    std::int64_t elapsed_;  // game nanoseconds at `known_at_`, of less than a week
    std::int32_t speed_;
};

}  // namespace muster
