// The world that all players share: its clock, and how they hear of it (C-1 … C-5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/log.h"
#include "base/time.h"
#include "core/broadcast.h"
#include "core/ledger.h"
#include "core/link_table.h"
#include "core/records.h"
#include "core/sessions.h"
#include "core/world_clock.h"
#include "runtime/events.h"
#include "runtime/timers.h"

namespace muster {

struct WorldConfig {
    GameTime start;          // unless a clock was stored
    std::int32_t speed = 1;  // unless an operator set another since the config had this one
    // Where several cells share one clock: who stores it.
    enum class Part : std::uint8_t { alone, leads, follows };
    Part part = Part::alone;
};

// Game thread only.
class World {
public:
    // All of them outlive the world.
    struct Parts {
        const LoopTime& time;
        Timers& timers;
        Events& events;
        Log& log;
        Ledger& ledger;
        LinkTable& links;
        const Sessions& sessions;
    };

    // Up to this speed each minute is told; above it, everybody gets the whole time once a second (C-2).
    static constexpr std::int32_t minutes_told_up_to = 60;

    World(const WorldConfig& config, const Parts& parts, const RecoveredState& recovered);

    GameTime shown() const { return clock_.at(time_.now()); }
    std::int32_t speed() const { return clock_.speed(); }

    // The whole time for one player: after a login or a resume (C-3).
    void tell(const Pass& pass, ConnectionId player);

    // An operator's word: another time, another speed, or both.
    void set(const Pass& pass, std::optional<GameTime> time, std::optional<std::int32_t> speed);

    // Another cell leads, and its clock showed that at `as_of`. What differs too little to be seen is left alone.
    void follow(const Pass& pass, Time as_of, const ClockRecord& shown);
    static constexpr std::chrono::milliseconds unseen_difference{250};

    // The time as it is goes to the store, for the next start; not from a cell that follows.
    void save(const Pass& pass);

    // Once in a pass, after the timers. Returns how many it told something.
    std::size_t update(const Pass& pass);

private:
    void plan_next(Time now);
    // At most once a second: when that was just now, a moment later (C-3).
    void save_in_time(const Pass& pass);
    void announce(const Pass& pass);
    void announce_change(const GameTime& now);
    void announce_whole(const GameTime& now);
    template <class M>
    void add(const M& message);

    const LoopTime& time_;
    Timers& timers_;
    Events& events_;
    Log& log_;
    Ledger& ledger_;
    LinkTable& links_;
    const WorldConfig config_;
    WorldClock clock_;
    GameMinute told_;  // the minute that was announced last
    Broadcast broadcast_;
    std::vector<std::byte> frames_;
    TimerId next_;
    TimerId more_;  // brings a pass for the rest of a broadcast
    std::optional<Time> saved_at_;
    TimerId late_save_;
};

}  // namespace muster
