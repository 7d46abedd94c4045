#include "sim/clock_judge.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t minute_ns = Duration(1min).count();
constexpr std::int64_t week_minutes = 7 * 24 * 60;
constexpr std::int64_t ms_ns = Duration(1ms).count();
// Up to this speed each minute is told by what changed (C-2).
constexpr std::int32_t speed_of_parts = 60;
// A minute's timer has a resolution, and is planned from a pass.
constexpr Duration telling_time = 5ms;

GameTime shown_at(std::int64_t minute) {
    const std::int64_t of_week = minute % week_minutes;
    return {static_cast<std::uint8_t>(of_week / (24 * 60) + 1), static_cast<std::uint8_t>(of_week / 60 % 24),
            static_cast<std::uint8_t>(of_week % 60)};
}

std::string text_of(const GameTime& time) {
    return fmt::format("day {} {:02}:{:02}", time.day, time.hour, time.minute);
}

}  // namespace

std::int64_t ClockJudge::elapsed_at(Time now) const {
    return elapsed_ + (now - known_at_).count() * speed_;
}

std::int64_t ClockJudge::minute_at(Time now) const {
    return elapsed_at(now) / minute_ns;
}

Time ClockJudge::begin_of(std::int64_t minute) const {
    return known_at_ + Duration((minute * minute_ns - elapsed_ + speed_ - 1) / speed_);
}

const GameTime& ClockJudge::shown(Time now) {
    if (now >= shown_from_ && now < shown_until_) return shown_;
    const std::int64_t minute = minute_at(now);
    shown_ = shown_at(minute);
    shown_from_ = begin_of(minute);
    shown_until_ = begin_of(minute + 1);
    return shown_;
}

void ClockJudge::opened(const Scene&, LinkNumber link, Port port) {
    if (port == Port::players) clients_[link] = {};
}

void ClockJudge::closed(const Scene&, LinkNumber link) {
    clients_.erase(link);
}

void ClockJudge::close_asked(const Scene&, LinkNumber link) {
    clients_.erase(link);
}

void ClockJudge::said(const Scene&, LinkNumber link, const ServerClose&) {
    clients_.erase(link);
}

void ClockJudge::said(const Scene& scene, LinkNumber link, const PlayerLoginResponse& answer) {
    if (!std::holds_alternative<PlayerLoginResponse::Accepted>(answer.answer)) return;
    Client& client = clients_[link];
    client.logged_in = true;
    client.welcomed = scene.now;
    none_late_until_ = Time{};
}

void ClockJudge::said(const Scene& scene, LinkNumber link, const TimeChange& part) {
    const auto found = clients_.find(link);
    if (found == clients_.end()) return;
    ++told_;
    Client& client = found->second;
    if (!client.clock.shown)
        return object(scene, "invariant 16", "a part of the time is told to a client that never had the whole");
    if (speed_ > speed_of_parts) return object(scene, "C-2", "the minutes are told one by one above speed 60");
    tell(link, client);
    client.clock.follow(part);
    client.parts.push_back(part);
}

void ClockJudge::said(const Scene& scene, LinkNumber link, const TimeUpdate& whole) {
    const auto found = clients_.find(link);
    if (found == clients_.end()) return;
    ++told_;
    Client& client = found->second;
    tell(link, client);
    client.clock.follow(whole);
    ++client.wholes;
    const GameTime& now = shown(scene.now);
    if (*client.clock.shown != now)
        object(scene, "invariant 16", fmt::format("{} is told at {}", text_of(*client.clock.shown), text_of(now)));
}

void ClockJudge::tell(LinkNumber link, const Client& client) {
    if (client.wholes == 0 && client.parts.empty()) told_now_.push_back(link);
}

// From the whole minute on when the time is set; without a break when only the speed is.
void ClockJudge::clock_set(const Scene& scene, const OperatorClock& wish) {
    elapsed_ = elapsed_at(scene.now) % (week_minutes * minute_ns);
    known_at_ = scene.now;
    if (wish.speed) speed_ = *wish.speed;
    if (wish.time) {
        const GameTime& time = *wish.time;
        elapsed_ = (((time.day - 1) * 24 + time.hour) * 60 + time.minute) * minute_ns;
    }
    jumped_ = scene.now;
    none_late_until_ = shown_until_ = Time{};
    for (auto& [link, client] : clients_) client.told.reset();
}

void ClockJudge::durable(Time, const RecordBatch& batch) {
    for (const Record& record : batch.records) {
        if (const auto* clock = std::get_if<ClockRecord>(&record)) stored_ = *clock;
    }
}

// The clock stood still while nobody ran; a stored one is worth more than the configuration.
void ClockJudge::run_began(const Scene& scene, const Core& core) {
    clients_.clear();
    told_now_.clear();
    none_late_until_ = shown_until_ = Time{};
    known_at_ = scene.now;
    jumped_.reset();
    speed_ = stored_ ? stored_->speed : rules_.clock_speed;
    const GameTime& start = rules_.clock_start;
    elapsed_ = stored_ ? stored_->elapsed_game_ms % (week_minutes * minute_ns / ms_ns) * ms_ns
                       : (((start.day - 1) * 24 + start.hour) * 60 + start.minute) * minute_ns;
    const GameTime now = shown_at(minute_at(scene.now));
    if (core.world().shown() != now) {
        object(scene, "C-3",
               fmt::format("the world begins at {}, and was left at {}", text_of(core.world().shown()), text_of(now)));
    }
}

void ClockJudge::pass_ended(const Scene& scene, const Core& core) {
    const GameTime& now = shown(scene.now);
    if (core.world().shown() != now)
        return object(scene, "invariant 16",
                      fmt::format("the world shows {} at {}", text_of(core.world().shown()), text_of(now)));
    if (scene.now > none_late_until_ && !scene.timers_left) {
        for (const auto& [link, client] : clients_) {
            const bool silent = client.wholes == 0 && client.parts.empty();
            if (silent && client.logged_in) judge_silence(scene, client);
        }
    }
    told_in_pass(scene);
    if (scene.now <= none_late_until_) return;
    none_late_until_ = Time::max();
    for (const auto& [link, client] : clients_) {
        if (client.logged_in) none_late_until_ = std::min(none_late_until_, late_from(scene, client));
    }
}

Time ClockJudge::late_from(const Scene& scene, const Client& client) const {
    if (speed_ > speed_of_parts) return client.told_at + 1s + telling_time;
    const std::int64_t minute = minute_at(scene.now);
    return begin_of(client.showing == minute ? minute + 1 : minute) + telling_time;
}

void ClockJudge::told_in_pass(const Scene& scene) {
    for (const LinkNumber link : told_now_) {
        const auto found = clients_.find(link);
        if (found == clients_.end() || (found->second.wholes == 0 && found->second.parts.empty())) continue;
        judge_told(scene, found->second);
        found->second.parts.clear();
        found->second.wholes = 0;
    }
    told_now_.clear();
}

// After the last message of a pass it shows the world's time.
void ClockJudge::judge_told(const Scene& scene, Client& client) {
    const std::int64_t minute = minute_at(scene.now);
    const GameTime& now = shown(scene.now);
    if (client.clock.shown != now)
        return object(scene, "invariant 16",
                      fmt::format("a client shows {} at {}", text_of(*client.clock.shown), text_of(now)));
    // Whoever logs in, and everybody after a jump, is told what it is without its being a new minute.
    const bool asked = client.welcomed == scene.now || jumped_ == scene.now;
    if (!asked) {
        if (client.told == minute) return object(scene, "invariant 16", "a minute is announced twice");
        judge_form(scene, client, now);
        client.told = minute;
    }
    client.showing = minute;
    client.told_at = scene.now;
}

// The largest part that changed, and after a rollover the minute (C-2); all of it when more than one minute passed
// (C-4).
void ClockJudge::judge_form(const Scene& scene, const Client& client, const GameTime& now) {
    if (client.wholes > 1 || (client.wholes == 1 && !client.parts.empty()))
        return object(scene, "C-4", "the time is told in a burst");
    if (client.wholes == 1) return;
    if (client.showing && minute_at(scene.now) - *client.showing > 1)
        return object(scene, "C-4", "parts of the time are told when two minutes have passed");
    const TimeChange minute{TimeUnit::minute, now.minute};
    const TimeChange larger = now.hour == 0 ? TimeChange{TimeUnit::day, now.day} : TimeChange{TimeUnit::hour, now.hour};
    const bool as_changed = now.minute == 0
                                ? client.parts.size() == 2 && client.parts[0] == larger && client.parts[1] == minute
                                : client.parts.size() == 1 && client.parts[0] == minute;
    if (!as_changed) object(scene, "C-2", fmt::format("{} is not told by what changed, largest first", text_of(now)));
}

void ClockJudge::judge_silence(const Scene& scene, const Client& client) {
    if (speed_ > speed_of_parts) {
        if (scene.now - client.told_at > 1s + telling_time)
            object(scene, "C-2", "a player is not told the time for a second");
        return;
    }
    const std::int64_t minute = minute_at(scene.now);
    if (client.showing != minute && scene.now - begin_of(minute) > telling_time)
        object(scene, "C-2", fmt::format("a player is not told that it is {}", text_of(shown_at(minute))));
}

void ClockJudge::object(const Scene& scene, std::string rule, std::string what) {
    objections_.add({std::move(rule), std::move(what), {}, {}, scene.now});
}

}  // namespace muster::sim
