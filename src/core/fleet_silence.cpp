// How the fleet finds out that a server has gone quiet, and what it does about it (F-2, F-8).
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "core/events.h"
#include "core/fleet.h"
#include "core/link_table.h"

namespace muster {

void Fleet::start_silence_timer(Server& server, Duration delay) {
    const ServerId id = server.id;
    server.silence =
        timers_.start({.first_delay = delay}, [this, id](const TimerFired& fired) { silence_due(fired.pass, id); });
}

// A sign of life only notes its time; the timer looks at that time when it fires, and moves itself on.
void Fleet::silence_due(const Pass& pass, ServerId id) {
    Server* server = mutable_find(id);
    MUSTER_CHECK(server != nullptr, "a removed server's timer is cancelled");
    const Time heard_until = server->heard_until(pass.running);
    const Time silence = std::min(server->last_heartbeat + silence_after(), removal_time(*server));
    const bool thought_well = server->connected() && !server->silent;
    if (thought_well && heard_until >= silence) {
        // It is removed in a later pass at the earliest: all who fall silent in this one count for the brake first.
        became_silent(pass, *server);
    } else if (heard_until >= removal_time(*server)) {
        return timed_out(pass, *server);
    }
    const Time next = server->connected() && !server->silent ? silence : removal_time(*server);
    const Duration least = !server->is_read() ? unread_look_every : Timers::delay_least;
    timers_.restart(server->silence, std::max<Duration>(next - heard_until, least));
}

// Its timer stood at its removal, which may be later than its next silence.
void Fleet::look_for_silence_again(Server& server) {
    timers_.restart(server.silence, silence_after());
}

Time Fleet::removal_time(const Server& server) const {
    const Duration kept =
        server.braked ? std::max(config_.brake.hold, config_.heartbeat_timeout) : config_.heartbeat_timeout;
    return server.last_heartbeat + kept + std::chrono::seconds(planted(Bug::silence_found_late) ? 3 : 0);
}

void Fleet::became_silent(const Pass& pass, Server& server) {
    if (server.silent) return;
    server.silent = true;
    Brake& brake = brakes_.at(server.region);
    if (!brake.silenced(pass.running, server.id, indexes_.at(server.region).size())) return;
    if (brake.on()) return brake_one(server);
    pull_brake(server.region);
}

// All that are silent in the region are Offline, and none of them is removed before the brake's time is over.
void Fleet::pull_brake(RegionId region) {
    brakes_.at(region).pull();
    ++figures_.brakes;
    std::int64_t silent = 0;
    for (auto& [id, server] : servers_) {
        if (server.region != region || !server.silent) continue;
        brake_one(server);
        ++silent;
    }
    const std::size_t servers = indexes_.at(region).size();
    log_.with(LogLevel::error, {{"region", name_of(config_.regions, region)}},
              "Eviction brake on: {} of {} servers silent; removals suspended", silent, servers);
    events_.publish(event::BrakeOn{region, silent, static_cast<std::int64_t>(servers)});
}

void Fleet::brake_one(Server& server) {
    if (server.braked) return;
    const bool was_online = server.status() != ServerStatus::offline;
    server.braked = true;
    brakes_.at(server.region).hold();
    if (was_online) went_offline(server, "silent with much of its region");
}

void Fleet::let_go(Server& server) {
    if (!server.braked) return;
    server.braked = false;
    if (brakes_.at(server.region).let_go()) events_.publish(event::BrakeOff{server.region});
}

void Fleet::went_offline(Server& server, std::string_view reason) {
    refresh(server);
    events_.publish(event::ServerOffline{server.id, server.region, reason});
    note(FleetFact::Kind::offline, server);
}

void Fleet::timed_out(const Pass& pass, Server& server) {
    log_.warning("Game server {} timed out (last heartbeat {:.1f}s ago)", server.id.value,
                 to_seconds(pass.running - server.last_heartbeat));
    remove(pass, server.id, Reason::server_lost);
}

}  // namespace muster
