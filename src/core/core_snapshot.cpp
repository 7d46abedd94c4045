#include "core/core_snapshot.h"

#include "core/core.h"

namespace muster {
namespace {

struct Sums {
    double cpu = 0;
    double memory = 0;
    double load = 0;
    double capacity = 0;
    double online = 0;
};

void add_servers(const Core& core, std::map<RegionId, CoreSnapshot::OfRegion>& regions) {
    std::map<RegionId, Sums> sums;
    core.fleet().for_each([&](const Server& server) {
        CoreSnapshot::OfRegion& region = regions[server.region];
        ++region.servers[static_cast<std::size_t>(server.status())];
        region.brake_on = region.brake_on || server.braked;
        if (server.status() == ServerStatus::offline) return;
        Sums& sum = sums[server.region];
        sum.cpu += static_cast<double>(server.cpu_percent);
        sum.memory += static_cast<double>(server.memory_percent);
        sum.load += server.load();
        sum.capacity += server.max_matches;
        sum.online += 1;
    });
    for (const auto& [id, sum] : sums) {
        CoreSnapshot::OfRegion& region = regions[id];
        region.cpu_percent = sum.cpu / sum.online;
        region.memory_percent = sum.memory / sum.online;
        region.capacity_ratio = sum.load / sum.capacity;
    }
}

std::uint64_t value_of(const std::map<RegionId, std::uint64_t>& counts, RegionId region) {
    const auto found = counts.find(region);
    return found == counts.end() ? 0 : found->second;
}

}  // namespace

CoreSnapshot snapshot_of(const Core& core) {
    CoreSnapshot snapshot;
    std::map<RegionId, CoreSnapshot::OfRegion> regions;
    add_servers(core, regions);
    core.telemetry().for_each_region([&](RegionId id, const Telemetry::OfRegion& figures) {
        CoreSnapshot::OfRegion& region = regions[id];
        region.name = figures.name;
        region.requests = value_of(core.matches().figures().requests, id);
        region.retries = value_of(core.matches().figures().retries, id);
        region.timeouts = figures.timeouts;
        region.failures = figures.failures;
        region.allocation_seconds = figures.allocation_seconds;
        region.uptime_seconds = figures.uptime_seconds;
    });
    for (auto& [id, region] : regions) snapshot.regions.push_back(std::move(region));
    core.matches().for_each(
        [&](const Match& match) { ++snapshot.matches[static_cast<std::size_t>(match.record.state)]; });
    snapshot.allocations_in_flight = core.matches().in_flight();
    snapshot.matchmakers = core.matchmakers().size();
    snapshot.owed_aborts = core.fleet().owed_aborts().size();
    snapshot.owed_aborts_dropped = core.fleet().owed_aborts().dropped();
    snapshot.player_lists = core.matches().lists().size();
    snapshot.untold_matches = core.matches().news().size();
    snapshot.untold_matches_dropped = core.matches().news().dropped();
    snapshot.fleet = core.fleet().figures();
    snapshot.match = core.matches().figures();
    snapshot.players = core.players().figures();
    snapshot.hosts = core.hosts().counts();
    snapshot.entities = core.players().entities().size();
    snapshot.clock = core.world().shown();
    snapshot.clock_speed = core.world().speed();
    for (const Port port : ports) {
        for (const WireError kind : wire_errors) {
            snapshot.protocol_errors[static_cast<std::size_t>(port)][static_cast<std::size_t>(kind)] =
                core.protocol_errors(port, kind);
        }
    }
    core.refused_registrations().for_each_total([&](Port port, Refusal why, std::uint64_t count) {
        snapshot.registrations_refused.push_back({port, label(why), count});
    });
    snapshot.stale_messages = core.stale_messages();
    for (const Port port : ports) {
        snapshot.wrong_secrets[static_cast<std::size_t>(port)] = core.wrong_secrets().count(port);
        snapshot.blocked[static_cast<std::size_t>(port)] = core.blocked_links(port);
    }
    snapshot.blocks = core.blocks().size();
    snapshot.clock_steps = core.issued().steps_seen();
    snapshot.events_not_written = core.ledger().events_dropped();
    snapshot.store_up = core.ledger().store_up();
    return snapshot;
}

}  // namespace muster
