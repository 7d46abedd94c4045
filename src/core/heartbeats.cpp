#include "core/heartbeats.h"

#include <chrono>
#include <utility>

#include "base/planted.h"

namespace muster {
namespace {

constexpr std::uint8_t success = 1;

}  // namespace

const HeartbeatRound& Heartbeats::run(const Pass& pass) {
    round_.requests.clear();
    round_.failed.clear();
    round_.done = 0;
    if (!config_.enabled) {
        newborn_.clear();
        answers_.clear();
        return round_;
    }
    round_.done = newborn_.size() + answers_.size();
    initialise(pass);
    make_requests(pass);
    take_answers();
    round_.done += ended_.size();
    judge();
    return round_;
}

void Heartbeats::initialise(const Pass& pass) {
    for (const EntityId entity : newborn_) {
        if (!entities_.contains(entity) || !entities_.has_authority(entity)) continue;
        HeartbeatData& data = entities_.heartbeat(entity);
        if (data.has) continue;
        data.has = true;
        ask_at(pass.running + config_.interval, entity, data.request);
    }
    newborn_.clear();
}

void Heartbeats::ask_at(Time at, EntityId entity, std::uint32_t request) {
    const Time moment(std::chrono::ceil<std::chrono::milliseconds>(at.time_since_epoch()));
    if (waves_.empty() || waves_.back().at != moment) waves_.push_back({moment});
    ++waves_.back().size;
    due_.push_back({entity.index, request});
}

void Heartbeats::make_requests(const Pass& pass) {
    for (std::size_t i = 0; i < per_pass_max && !waves_.empty() && waves_.front().at <= pass.running; ++i) {
        const Due due = due_.front();
        due_.pop_front();
        if (--waves_.front().size == 0) waves_.pop_front();
        const EntityId entity = entities_.at(due.entity);
        if (entity == EntityId{}) continue;
        HeartbeatData& data = entities_.heartbeat(entity);
        if (!data.has || data.request != due.request) continue;
        const std::uint32_t session = entities_.session(entity);
        // In the grace of its session the count stands still.
        if (planted(Bug::counted_in_grace) || sessions_.at(session).connected()) {
            if (data.asked) {
                data.closing = true;
                ended_.push_back(entity);
            }
            data.asked = true;
            round_.requests.push_back({session, EntityHeartbeat{++data.request}});
        }
        ask_at(pass.running + config_.interval, entity, data.request);
    }
}

// A message of this pass answers the request before the one that has just been sent, if one was.
void Heartbeats::take_answers() {
    for (const Answer& each : std::exchange(answers_, {})) {
        if (!entities_.contains(each.entity)) continue;
        HeartbeatData& data = entities_.heartbeat(each.entity);
        if (!data.has || !data.asked || each.answer.status != success) continue;
        const std::uint32_t open = data.closing ? data.request - 1 : data.request;
        if (planted(Bug::any_answer_counts) || each.answer.request_id == open) data.answered = true;
    }
}

void Heartbeats::judge() {
    for (const EntityId entity : std::exchange(ended_, {})) {
        if (!entities_.contains(entity)) continue;
        HeartbeatData& data = entities_.heartbeat(entity);
        if (!data.closing) continue;
        const bool success_seen = data.answered;
        data.closing = false;
        data.answered = false;
        data.failures = success_seen ? 0 : static_cast<std::uint16_t>(data.failures + 1);
        if (data.failures > config_.failures_max) round_.failed.push_back(entity);
    }
}

void Heartbeats::link_lost(EntityId entity) {
    if (!config_.enabled || !entities_.contains(entity)) return;
    HeartbeatData& data = entities_.heartbeat(entity);
    data.asked = false;
    data.answered = false;
    data.closing = false;
}

void Heartbeats::set_authority(EntityId entity, bool here) {
    if (!entities_.contains(entity) || entities_.has_authority(entity) == here) return;
    entities_.set_authority(entity, here);
    // The number goes on, so that what was under way fits nothing any more.
    HeartbeatData& data = entities_.heartbeat(entity);
    data = HeartbeatData{.request = data.request + 1};
    if (here) newborn_.push_back(entity);
}

std::optional<Time> Heartbeats::next_due() const {
    if (waves_.empty()) return std::nullopt;
    return waves_.front().at;
}

}  // namespace muster
