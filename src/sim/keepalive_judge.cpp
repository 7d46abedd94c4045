#include "sim/keepalive_judge.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace muster::sim {
namespace {

constexpr std::uint8_t success = 1;

// The bounds of P-2, in hundredths of the interval.
constexpr int ping_least = 90;
constexpr int ping_most = 97;

}  // namespace

void KeepaliveJudge::opened(const Scene& scene, LinkNumber link, Port port) {
    if (port == Port::players) opened_[link] = scene.running;
}

// What was under way is judged no more; counts stand still (H-3).
void KeepaliveJudge::closed(const Scene&, LinkNumber link) {
    if (Life* life = on(link)) {
        leave_link(*life);
        life->asked = false;
        life->owed_replies = 0;
        life->owed_syncs.clear();
    }
    opened_.erase(link);
    early_.erase(link);
}

void KeepaliveJudge::happened(const Scene& scene, const event::PlayerLogin& event) {
    Life& life = lives_[event.player];
    leave_link(life);
    life = {};
    came(scene, event.player, life);
}

void KeepaliveJudge::happened(const Scene& scene, const event::PlayerResumed& event) {
    const auto life = lives_.find(event.player);
    if (life == lives_.end()) return;
    came(scene, event.player, life->second);
}

void KeepaliveJudge::came(const Scene& scene, AccountId player, Life& life) {
    const KnownSession* session = players_.of(player);
    if (!session) return;  // objected to already
    leave_link(life);
    life.link = session->link;
    if (life.link != 0) by_link_[life.link] = &life;
    life.echoed = life.active = life.responsive = life.asked_at = scene.running;
    life.pinged = opened_[life.link];
    life.asked = false;
    life.owes_active = life.idle;
    Early early = early_.extract(life.link).value_or(Early{});
    life.owed_replies = early.replies;
    life.owed_syncs = std::move(early.syncs);
    touch(life);
}

void KeepaliveJudge::leave_link(Life& life) {
    if (life.link != 0) by_link_.erase(life.link);
    life.link = 0;
}

void KeepaliveJudge::touch(Life& life) {
    touched_.push_back(&life);
    none_late_until_ = std::min(none_late_until_, late_from(life));
}

void KeepaliveJudge::heard(const Scene& scene, LinkNumber link, const PingEcho&) {
    if (Life* life = on(link)) life->echoed = scene.running;
}

void KeepaliveJudge::heard(const Scene& scene, LinkNumber link, const EntityHeartbeatAnswer& answer) {
    Life* life = on(link);
    if (!life || !life->asked || answer.request_id != life->request || answer.status != success) return;
    life->answered = true;
    life->responsive = scene.running;
}

void KeepaliveJudge::heard(const Scene& scene, LinkNumber link, const PingRequest&) {
    acted(scene, link);
    Life* life = on(link);
    ++(life ? life->owed_replies : early_[link].replies);
    if (life) touch(*life);
}

void KeepaliveJudge::heard(const Scene& scene, LinkNumber link, const PlayerActivity&) {
    acted(scene, link);
}

void KeepaliveJudge::heard(const Scene& scene, LinkNumber link, const GameMessage&) {
    acted(scene, link);
}

void KeepaliveJudge::heard(const Scene&, LinkNumber link, const ClockSync& question) {
    Life* life = on(link);
    (life ? life->owed_syncs : early_[link].syncs).push_back(question.client_send_us);
    if (life) touch(*life);
}

void KeepaliveJudge::acted(const Scene& scene, LinkNumber link) {
    Life* life = on(link);
    if (!life) return;
    life->active = scene.running;
    life->owes_active = life->idle;
    touch(*life);
}

void KeepaliveJudge::said(const Scene& scene, LinkNumber link, const Ping&) {
    Life* life = on(link);
    if (!life) return object(scene, "P-2", "a ping goes to a link without a session");
    const Duration since = scene.running - life->pinged;
    life->pinged = scene.running;
    if (since < rules_.ping_interval * ping_least / 100)
        object(scene, "P-2", fmt::format("a ping comes {:.3f} s after the one before", to_seconds(since)));
}

void KeepaliveJudge::said(const Scene& scene, LinkNumber link, const PingReply&) {
    Life* life = on(link);
    if (!life || life->owed_replies == 0) return object(scene, "P-3", "a ping is echoed that nobody asked for");
    --life->owed_replies;
}

void KeepaliveJudge::said(const Scene& scene, LinkNumber link, const ClockSyncReply& reply) {
    Life* life = on(link);
    if (!life || life->owed_syncs.empty() || life->owed_syncs.front() != reply.client_send_us)
        return object(scene, "W-8", "a clock answer belongs to no question");
    life->owed_syncs.erase(life->owed_syncs.begin());
    if (reply.server_receive_us > reply.server_send_us)
        object(scene, "W-8", "a clock answer leaves before its question came");
}

// A request ends the interval of the one before it (H-2, H-3).
void KeepaliveJudge::said(const Scene& scene, LinkNumber link, const EntityHeartbeat& request) {
    ++heartbeats_;
    Life* life = on(link);
    if (!rules_.heartbeats) return object(scene, "H-5", "a heartbeat is asked for while they are off");
    if (!life) return object(scene, "H-2", "a heartbeat is asked of a link without a session");
    if (life->asked && scene.running - life->asked_at < rules_.heartbeat_interval)
        return object(scene, "invariant 15", "an interval of heartbeats is cut short");
    if (life->asked) life->failures = life->answered ? 0 : life->failures + 1;
    if (request.request_id == life->request) return object(scene, "H-2", "a request's id is used twice");
    life->asked = true;
    life->answered = false;
    life->request = request.request_id;
    life->asked_at = scene.running;
    touch(*life);
}

// Whoever hears its last word is asked and answered no more.
void KeepaliveJudge::said(const Scene&, LinkNumber link, const ServerClose&) {
    if (Life* life = on(link)) {
        life->owed_replies = 0;
        life->owed_syncs.clear();
    }
}

void KeepaliveJudge::happened(const Scene& scene, const event::PlayerIdle& event) {
    ++idles_;
    const auto found = lives_.find(event.player);
    if (found == lives_.end()) return object(scene, "P-4", "a player is idle that is not there");
    Life& life = found->second;
    if (std::exchange(life.idle, true)) return object(scene, "P-4", "a player is called idle twice");
    if (scene.running - life.active < rules_.idle_after)
        object(scene, "P-4",
               fmt::format("a player is called idle {:.3f} s after its last act",
                           to_seconds(scene.running - life.active)));
}

void KeepaliveJudge::happened(const Scene& scene, const event::PlayerActive& event) {
    const auto found = lives_.find(event.player);
    if (found == lives_.end() || !found->second.idle || !found->second.owes_active)
        return object(scene, "P-4", "a player is called active again that did nothing");
    found->second.idle = found->second.owes_active = false;
    touch(found->second);
}

void KeepaliveJudge::happened(const Scene& scene, const event::PlayerClosed& event) {
    const auto found = lives_.find(event.player);
    if (found == lives_.end()) return;
    leave_link(found->second);
    std::erase(touched_, &found->second);
    const Life life = std::move(found->second);
    lives_.erase(found);
    const auto judge = [&](Time since, Duration limit, std::string_view of) {
        if (scene.running - since < limit)
            object(scene, "invariant 17",
                   fmt::format("\"{}\" {:.3f} s after {}", event.reason, to_seconds(scene.running - since), of));
    };
    if (event.reason == "Ping timeout") judge(life.echoed, rules_.ping_timeout, "its last echo");
    if (event.reason == "Idle too long") judge(life.active, rules_.idle_kick_after, "its last act");
    if (event.reason == "Heartbeat failed" && life.failures <= rules_.heartbeats_failed_max)
        object(scene, "H-4", fmt::format("an entity is given up after {} failed heartbeats", life.failures));
}

void KeepaliveJudge::run_began(const Scene&, const Core&) {
    opened_.clear();
    early_.clear();
    lives_.clear();
    by_link_.clear();
    touched_.clear();
    none_late_until_ = Time::max();
}

// Of a life that nothing was heard or said of since the last pass only the time can be wrong.
void KeepaliveJudge::pass_ended(const Scene& scene, const Core&) {
    for (const Life* life : touched_) judge_pass(scene, *life);
    touched_.clear();
    if (scene.running <= none_late_until_) return;
    none_late_until_ = Time::max();
    for (const auto& [player, life] : lives_) {
        judge_lateness(scene, life);
        none_late_until_ = std::min(none_late_until_, late_from(life));
    }
}

void KeepaliveJudge::judge_pass(const Scene& scene, const Life& life) {
    if (life.link == 0) return;
    if (life.owed_replies > 0) return object(scene, "P-3", "a ping request is not echoed in its pass");
    if (!life.owed_syncs.empty()) return object(scene, "P-3", "a clock question is not answered in its pass");
    if (life.owes_active) return object(scene, "P-4", "a player that acts again stays idle");
    if (life.failures > rules_.heartbeats_failed_max)
        object(scene, "H-4", "an entity stays although its heartbeat failed too often");
}

Time KeepaliveJudge::late_from(const Life& life) const {
    if (life.link == 0) return Time::max();
    Time from = std::min({life.echoed + rules_.ping_timeout, life.active + rules_.idle_kick_after,
                          life.pinged + rules_.ping_interval * ping_most / 100});
    if (!life.idle) from = std::min(from, life.active + rules_.idle_after);
    if (rules_.heartbeats) {
        from = std::min({from, life.asked_at + rules_.heartbeat_interval,
                         life.responsive + rules_.heartbeat_interval * (rules_.heartbeats_failed_max + 2)});
    }
    return from + lateness_max;
}

void KeepaliveJudge::judge_lateness(const Scene& scene, const Life& life) {
    if (life.link == 0) return;
    const auto over = [&](Time since, Duration limit) { return scene.running - since > limit + lateness_max; };
    if (over(life.echoed, rules_.ping_timeout)) object(scene, "invariant 17", "a player that echoes no ping is kept");
    if (over(life.active, rules_.idle_kick_after)) object(scene, "invariant 17", "a player that does nothing is kept");
    if (!life.idle && over(life.active, rules_.idle_after)) object(scene, "P-4", "an idle player is not called so");
    if (over(life.pinged, rules_.ping_interval * ping_most / 100)) object(scene, "P-2", "a ping is overdue");
    if (!rules_.heartbeats) return;
    if (over(life.asked_at, rules_.heartbeat_interval)) object(scene, "H-2", "a heartbeat is overdue");
    if (over(life.responsive, rules_.heartbeat_interval * (rules_.heartbeats_failed_max + 2)))
        object(scene, "invariant 17", "an entity stays whose client answered nothing for too long (H-5)");
}

KeepaliveJudge::Life* KeepaliveJudge::on(LinkNumber link) {
    const auto found = by_link_.find(link);
    return found == by_link_.end() ? nullptr : found->second;
}

void KeepaliveJudge::object(const Scene& scene, std::string rule, std::string what) {
    objections_.add({std::move(rule), std::move(what), {}, {}, scene.now});
}

}  // namespace muster::sim
