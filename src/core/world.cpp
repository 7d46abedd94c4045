#include "core/world.h"

#include "base/planted.h"
#include "core/events.h"
#include "protocol/codec.h"
#include "protocol/player_messages.h"

namespace muster {
namespace {

constexpr std::chrono::seconds save_every{1};
constexpr std::chrono::seconds whole_every{1};

WorldClock clock_at_start(Time now, const WorldConfig& config, const RecoveredState& recovered) {
    if (!recovered.has_clock) return WorldClock(now, config.start, config.speed);
    // A config that was changed since is newer than what an operator said.
    const bool holds = recovered.clock.configured_speed == config.speed;
    return WorldClock(now, recovered.clock, holds ? recovered.clock.speed : config.speed);
}

}  // namespace

World::World(const WorldConfig& config, const Parts& parts, const RecoveredState& recovered)
    : time_(parts.time),
      timers_(parts.timers),
      events_(parts.events),
      log_(parts.log),
      ledger_(parts.ledger),
      links_(parts.links),
      config_(config),
      clock_(clock_at_start(parts.time.now(), config, recovered)),
      told_(clock_.minute_at(parts.time.now())),
      broadcast_(parts.links, parts.sessions) {
    plan_next(parts.time.now());
    // Those that follow can do so from now on.
    if (config.part == WorldConfig::Part::leads) save({parts.time.now(), parts.time.running()});
}

void World::tell(const Pass& pass, ConnectionId player) {
    const GameTime now = clock_.at(pass.now);
    links_.send(player, TimeUpdate{now.day, now.hour, now.minute});
}

void World::set(const Pass& pass, std::optional<GameTime> time, std::optional<std::int32_t> speed) {
    if (speed) clock_.set_speed(pass.now, *speed);
    if (time) clock_.set(pass.now, *time);
    told_ = clock_.minute_at(pass.now);
    const GameTime now = game_time_of(told_);
    events_.publish(event::ClockJump{now.day, now.hour, now.minute, clock_.speed()});
    announce_whole(now);
    save(pass);  // now: the operator's answer waits for it
    plan_next(pass.now);
}

void World::follow(const Pass& pass, Time as_of, const ClockRecord& shown) {
    const bool is_clock = shown.elapsed_game_ms >= 0 && shown.speed >= 1 && shown.speed <= WorldClock::speed_max;
    if (config_.part != WorldConfig::Part::follows || !is_clock) return;
    if (shown.speed == clock_.speed() && clock_.difference(as_of, shown) <= unseen_difference) return;
    clock_ = WorldClock(as_of, shown, shown.speed);
    told_ = clock_.minute_at(pass.now);
    announce_whole(game_time_of(told_));
    plan_next(pass.now);
}

void World::save(const Pass& pass) {
    if (config_.part == WorldConfig::Part::follows) return;
    saved_at_ = pass.now;
    ClockRecord record = clock_.record(pass.now);
    record.configured_speed = config_.speed;
    ledger_.write(record);
}

void World::save_in_time(const Pass& pass) {
    if (timers_.contains(late_save_)) return;
    const Duration left = saved_at_ ? save_every - (pass.now - *saved_at_) : Duration::zero();
    if (left <= Duration::zero()) return save(pass);
    late_save_ = timers_.start({.first_delay = left, .base = TimeBase::real},
                               [this](const TimerFired& fired) { save(fired.pass); });
}

std::size_t World::update(const Pass&) {
    const std::size_t told = broadcast_.pump();
    if (broadcast_.busy() && !timers_.contains(more_)) {
        more_ = timers_.start({.first_delay = Timers::delay_least}, [](const TimerFired&) {});
    }
    return told;
}

// On real time: the world goes on while the process stands still.
void World::plan_next(Time now) {
    timers_.cancel(next_);
    const Duration wait =
        clock_.speed() > minutes_told_up_to ? Duration(whole_every) : clock_.begin_of(told_ + 1) - now;
    next_ = timers_.start({.first_delay = wait, .base = TimeBase::real},
                          [this](const TimerFired& fired) { announce(fired.pass); });
}

void World::announce(const Pass& pass) {
    const GameMinute minute = clock_.minute_at(pass.now);
    const GameMinute passed = minute - told_;
    told_ = minute;
    const GameTime now = game_time_of(minute);
    // Who has not even heard the last one would be left with a part of the time that is wrong: everybody gets all.
    if (passed > 1 || broadcast_.busy() || clock_.speed() > minutes_told_up_to) {
        announce_whole(now);
    } else if (passed == 1) {
        announce_change(now);
    }
    save_in_time(pass);
    plan_next(pass.now);
}

// What changed, from the largest part on; at a rollover the minute follows, so that no client shows a stale one (C-2).
void World::announce_change(const GameTime& now) {
    frames_.clear();
    if (now.minute != 0) {
        add(TimeChange{TimeUnit::minute, now.minute});
    } else {
        add(now.hour == 0 ? TimeChange{TimeUnit::day, now.day} : TimeChange{TimeUnit::hour, now.hour});
        if (!planted(Bug::hour_without_minute)) add(TimeChange{TimeUnit::minute, 0});
    }
    broadcast_.start(frames_);
}

void World::announce_whole(const GameTime& now) {
    frames_.clear();
    encode(TimeUpdate{now.day, now.hour, now.minute}, links_.order(Port::players), frames_);
    log_.debug("Broadcast time update: day={}, hour={}, minute={}", now.day, now.hour, now.minute);
    broadcast_.start(frames_);
}

template <class M>
void World::add(const M& message) {
    encode(message, links_.order(Port::players), frames_);
    log_.debug("Broadcast time update: type={}, value={}", static_cast<int>(message.unit), message.value);
}

}  // namespace muster
