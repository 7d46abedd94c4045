// The world's time as a player's client keeps it: from whole updates and from single changes (P-11).
#pragma once

#include <cstdint>
#include <optional>

#include "muster/world_time.h"
#include "protocol/player_messages.h"

namespace muster::sdk {

class WorldClock {
public:
    enum class Taken : std::uint8_t { changed, same, out_of_range };

    // An hour sets the hour, a minute the minute, a day the day and hour 0. A change that comes before anything else is
    // one of Sunday, 00:00. A value out of its range changes nothing.
    Taken take(const TimeChange& change);
    Taken take(const TimeUpdate& update);

    // None before the first message.
    const std::optional<WorldTime>& time() const { return time_; }

private:
    Taken set(const WorldTime& time);

    std::optional<WorldTime> time_;
};

}  // namespace muster::sdk
