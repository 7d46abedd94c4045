#include "sdk/src/world_clock.h"

namespace muster::sdk {

namespace {

bool exists(const WorldTime& time) {
    return time.day >= 1 && time.day <= 7 && time.hour <= 23 && time.minute <= 59;
}

}  // namespace

WorldClock::Taken WorldClock::take(const TimeChange& change) {
    WorldTime time = time_.value_or(WorldTime{});
    switch (change.unit) {
        case TimeUnit::hour:
            time.hour = change.value;
            break;
        case TimeUnit::minute:
            time.minute = change.value;
            break;
        case TimeUnit::day:
            time.day = change.value;
            time.hour = 0;
            break;
    }
    return set(time);
}

WorldClock::Taken WorldClock::take(const TimeUpdate& update) {
    return set({.day = update.day, .hour = update.hour, .minute = update.minute});
}

WorldClock::Taken WorldClock::set(const WorldTime& time) {
    if (!exists(time)) return Taken::out_of_range;
    if (time_ == time) return Taken::same;
    time_ = time;
    return Taken::changed;
}

}  // namespace muster::sdk
