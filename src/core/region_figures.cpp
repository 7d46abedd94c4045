#include "core/region_figures.h"

#include "base/time.h"
#include "core/events.h"

namespace muster {

RegionFigures::RegionFigures(Events& events, const Regions& regions) {
    for (const Region& region : regions) regions_[region.id].name = region.name;
    unknown_.name = "unknown";
    events.subscribe<event::MatchAllocated>([this](const event::MatchAllocated& allocated) {
        ++at(allocated.region).allocations;
        at(allocated.region).allocation_seconds.observe(to_seconds(allocated.took));
    });
    events.subscribe<event::MatchRefused>(
        [this](const event::MatchRefused& refused) { ++at(refused.region).failures[refused.label]; });
    events.subscribe<event::ServerRemoved>([this](const event::ServerRemoved& removed) {
        if (removed.timed_out) ++at(removed.region).timeouts;
        at(removed.region).uptime_seconds.observe(to_seconds(removed.uptime));
    });
    events.subscribe_all([this](const EventView&) { ++events_seen_; });
}

const RegionFigures::OfRegion& RegionFigures::of(RegionId region) const {
    const auto found = regions_.find(region);
    return found == regions_.end() ? unknown_ : found->second;
}

RegionFigures::OfRegion& RegionFigures::at(RegionId region) {
    const auto found = regions_.find(region);
    return found == regions_.end() ? unknown_ : found->second;
}

}  // namespace muster
