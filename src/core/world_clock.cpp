#include "core/world_clock.h"

#include <algorithm>
#include <cstdlib>

#include "base/check.h"

namespace muster {
namespace {

constexpr std::int64_t minutes_per_hour = 60;
constexpr std::int64_t minutes_per_day = 24 * minutes_per_hour;
constexpr std::int64_t days_per_week = 7;
constexpr std::int64_t minute_ns = std::chrono::nanoseconds(std::chrono::minutes(1)).count();
constexpr std::int64_t week_ns = minute_ns * minutes_per_day * days_per_week;
constexpr std::int64_t ms_ns = 1'000'000;

}  // namespace

GameTime game_time_of(GameMinute minute) {
    return {static_cast<std::uint8_t>(minute / minutes_per_day % days_per_week + 1),
            static_cast<std::uint8_t>(minute / minutes_per_hour % 24),
            static_cast<std::uint8_t>(minute % minutes_per_hour)};
}

GameMinute minute_of(const GameTime& time) {
    MUSTER_CHECK(is_game_time(time.day, time.hour, time.minute), "a time that a clock can show");
    return (time.day - 1) * minutes_per_day + time.hour * minutes_per_hour + time.minute;
}

WorldClock::WorldClock(Time now, const GameTime& start, std::int32_t speed)
    : known_at_(now), elapsed_(minute_of(start) * minute_ns), speed_(speed) {
    MUSTER_CHECK(speed >= 1 && speed <= speed_max, "the speed was judged before");
}

WorldClock::WorldClock(Time now, const ClockRecord& stored, std::int32_t speed)
    : known_at_(now), elapsed_(stored.elapsed_game_ms % (week_ns / ms_ns) * ms_ns), speed_(speed) {
    MUSTER_CHECK(speed >= 1 && speed <= speed_max, "the speed was judged before");
}

WorldClock::Wide WorldClock::elapsed_at(Time now) const {
    return Wide(elapsed_) + Wide((now - known_at_).count()) * speed_;
}

GameMinute WorldClock::minute_at(Time now) const {
    return static_cast<GameMinute>(elapsed_at(now) / minute_ns);
}

Time WorldClock::begin_of(GameMinute minute) const {
    const Wide away = Wide(minute) * minute_ns - elapsed_;
    const Wide real = away / speed_ + (away % speed_ > 0 ? 1 : 0);
    return known_at_ + Duration(static_cast<std::int64_t>(real));
}

void WorldClock::set(Time now, const GameTime& time) {
    known_at_ = now;
    elapsed_ = minute_of(time) * minute_ns;
}

void WorldClock::set_speed(Time now, std::int32_t speed) {
    MUSTER_CHECK(speed >= 1 && speed <= speed_max, "the speed was judged before");
    elapsed_ = static_cast<std::int64_t>(elapsed_at(now) % week_ns);
    known_at_ = now;
    speed_ = speed;
}

Duration WorldClock::difference(Time now, const ClockRecord& other) const {
    constexpr std::int64_t week_ms = week_ns / ms_ns;
    const auto own = static_cast<std::int64_t>(elapsed_at(now) % week_ns / ms_ns);
    const std::int64_t apart = std::abs(own - other.elapsed_game_ms % week_ms);
    return std::chrono::milliseconds(std::min(apart, week_ms - apart) / speed_);
}

ClockRecord WorldClock::record(Time now) const {
    return {static_cast<std::int64_t>(elapsed_at(now) / ms_ns), speed_};
}

}  // namespace muster
