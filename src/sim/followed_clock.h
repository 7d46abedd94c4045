// A client's clock: what it shows is what the messages made of it.
#pragma once

#include <optional>

#include "core/world_clock.h"
#include "protocol/player_messages.h"

namespace muster::sim {

// An hour sets the hour, a minute the minute, a day the day and hour 0, and the whole time all three (P-11).
struct FollowedClock {
    std::optional<GameTime> shown;  // nothing before the first whole time

    void follow(const TimeUpdate& whole) { shown = GameTime{whole.day, whole.hour, whole.minute}; }
    // Nothing to change a part of, before the first whole time.
    void follow(const TimeChange& part) {
        if (!shown) return;
        switch (part.unit) {
            case TimeUnit::hour:
                shown->hour = part.value;
                return;
            case TimeUnit::minute:
                shown->minute = part.value;
                return;
            case TimeUnit::day:
                shown->day = part.value;
                shown->hour = 0;
                return;
        }
    }
};

}  // namespace muster::sim
