#include "core/core_figures.h"

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

void add_servers(const Core& core, std::map<RegionId, CoreFigures::OfRegion>& regions) {
    std::map<RegionId, Sums> sums;
    core.fleet().for_each([&](const Server& server) {
        CoreFigures::OfRegion& region = regions[server.region];
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
        CoreFigures::OfRegion& region = regions[id];
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

CoreFigures figures_of(const Core& core) {
    CoreFigures figures;
    std::map<RegionId, CoreFigures::OfRegion> regions;
    add_servers(core, regions);
    core.region_figures().for_each_region([&](RegionId id, const RegionFigures::OfRegion& of) {
        CoreFigures::OfRegion& region = regions[id];
        region.name = of.name;
        region.requests = value_of(core.matches().figures().requests, id);
        region.retries = value_of(core.matches().figures().retries, id);
        region.timeouts = of.timeouts;
        region.failures = of.failures;
        region.allocation_seconds = of.allocation_seconds;
        region.uptime_seconds = of.uptime_seconds;
    });
    for (auto& [id, region] : regions) figures.regions.push_back(std::move(region));
    core.matches().for_each(
        [&](const Match& match) { ++figures.matches[static_cast<std::size_t>(match.record.state)]; });
    figures.allocations_in_flight = core.matches().in_flight();
    figures.matchmakers = core.matchmakers().size();
    figures.owed_aborts = core.fleet().owed_aborts().size();
    figures.owed_aborts_dropped = core.fleet().owed_aborts().dropped();
    figures.player_lists = core.matches().lists().size();
    figures.untold_matches = core.matches().news().size();
    figures.untold_matches_dropped = core.matches().news().dropped();
    figures.fleet = core.fleet().figures();
    figures.match = core.matches().figures();
    figures.players = core.players().figures();
    figures.hosts = core.hosts().counts();
    figures.entities = core.players().entities().size();
    figures.clock = core.world().shown();
    figures.clock_speed = core.world().speed();
    for (const Port port : ports) {
        for (const WireError kind : wire_errors) {
            figures.protocol_errors[static_cast<std::size_t>(port)][static_cast<std::size_t>(kind)] =
                core.protocol_errors(port, kind);
        }
    }
    core.refused_registrations().for_each_total([&](Port port, Refusal why, std::uint64_t count) {
        figures.registrations_refused.push_back({port, label(why), count});
    });
    figures.stale_messages = core.stale_messages();
    for (const Port port : ports) {
        figures.wrong_secrets[static_cast<std::size_t>(port)] = core.wrong_secrets().count(port);
        figures.blocked[static_cast<std::size_t>(port)] = core.blocked_links(port);
    }
    figures.blocks = core.blocks().size();
    figures.clock_steps = core.issued().steps_seen();
    figures.events_not_written = core.ledger().events_dropped();
    figures.store_up = core.ledger().store_up();
    return figures;
}

}  // namespace muster
