// Figures made from the event stream, by region (F-11, A-13).
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "base/histogram.h"
#include "base/ids.h"
#include "core/region.h"
#include "runtime/events.h"

namespace muster {

// Game thread only. Listens for as long as it lives.
class RegionFigures {
public:
    struct OfRegion {
        std::string_view name;
        std::uint64_t allocations = 0;
        std::map<std::string_view, std::uint64_t> failures;  // by the refusal's label
        std::uint64_t timeouts = 0;
        Histogram allocation_seconds{{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25}};
        Histogram uptime_seconds{{60, 600, 3600, 21600, 86400, 604800, 2592000}};
    };

    // The regions outlive it. What names another region is counted under "unknown".
    RegionFigures(Events& events, const Regions& regions);

    template <class Visit>
    void for_each_region(Visit visit) const {
        for (const auto& [id, region] : regions_) visit(id, region);
        visit(RegionId(-1), unknown_);
    }
    const OfRegion& of(RegionId region) const;
    std::uint64_t events_seen() const { return events_seen_; }

private:
    OfRegion& at(RegionId region);

    std::map<RegionId, OfRegion> regions_;
    OfRegion unknown_;
    std::uint64_t events_seen_ = 0;
};

}  // namespace muster
