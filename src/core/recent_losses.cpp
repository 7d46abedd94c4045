#include "core/recent_losses.h"

#include <algorithm>

#include "base/planted.h"
#include "core/events.h"
#include "protocol/error_texts.h"

namespace muster {

RecentLosses::RecentLosses(Events& events, bool had_servers) : had_servers_(had_servers) {
    events.subscribe<event::ServerRegistered>([this](const event::ServerRegistered& registered) {
        had_servers_ = true;
        servers_.erase(registered.endpoint);
    });
    events.subscribe<event::ServerRemoved>([this](const event::ServerRemoved& removed, const EventView& view) {
        if (removed.timed_out) server_lost(view.time(), removed.endpoint, removed.region);
    });
    events.subscribe<event::MatchAborted>([this](const event::MatchAborted& aborted, const EventView& view) {
        if (aborted.reason == text(Reason::server_lost)) ++slice(view.time()).server_lost;
        if (aborted.reason == text(Reason::lost_by_server)) ++slice(view.time()).lost_by_server;
        if (aborted.reason == text(Reason::server_crashed)) ++slice(view.time()).server_crashed;
    });
}

void RecentLosses::server_lost(Time now, const std::string& endpoint, RegionId region) {
    if (planted(Bug::losses_forgotten)) return;
    if (servers_.size() >= servers_max)
        std::erase_if(servers_, [now](const auto& entry) { return now - entry.second.at > memory; });
    if (servers_.size() < servers_max) servers_[endpoint] = {region, now};
}

RecentLosses::Slice& RecentLosses::slice(Time now) {
    while (!slices_.empty() && now - slices_.front().begin > memory + slice_length) slices_.pop_front();
    if (slices_.empty() || now - slices_.back().begin >= slice_length) slices_.push_back({now});
    return slices_.back();
}

std::map<RegionId, std::uint64_t> RecentLosses::servers(Time now) const {
    std::map<RegionId, std::uint64_t> counts;
    for (const auto& [endpoint, server] : servers_)
        if (now - server.at <= memory) ++counts[server.region];
    return counts;
}

RecentLosses::Aborts RecentLosses::aborts(Time now) const {
    std::uint64_t server_lost = 0;
    std::uint64_t lost_by_server = 0;
    std::uint64_t server_crashed = 0;
    for (const Slice& each : slices_) {
        if (now - each.begin > memory + slice_length) continue;
        server_lost += each.server_lost;
        lost_by_server += each.lost_by_server;
        server_crashed += each.server_crashed;
    }
    Reason most = Reason::server_lost;
    if (lost_by_server > server_lost) most = Reason::lost_by_server;
    if (server_crashed > std::max(server_lost, lost_by_server)) most = Reason::server_crashed;
    return {server_lost + lost_by_server + server_crashed, text(most)};
}

}  // namespace muster
