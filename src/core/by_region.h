// One thing for each region, found by the region's id.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/check.h"
#include "base/ids.h"

namespace muster {

// An id is one byte, so finding is one look into an array: each heartbeat does it.
template <class T>
class ByRegion {
public:
    // Nothing happens when it is there already.
    void add(RegionId region) {
        auto& place = places_[index_of(region)];
        if (!place) place = std::make_unique<T>();
    }
    // Null when there is no such region.
    T* find(RegionId region) { return places_[index_of(region)].get(); }
    bool contains(RegionId region) const { return places_[index_of(region)] != nullptr; }
    T& at(RegionId region) { return *checked(region); }
    const T& at(RegionId region) const { return *checked(region); }

private:
    static std::size_t index_of(RegionId region) { return static_cast<std::uint8_t>(region.value); }
    T* checked(RegionId region) const {
        T* found = places_[index_of(region)].get();
        MUSTER_CHECK(found != nullptr, "the region is one of the config's");
        return found;
    }

    std::array<std::unique_ptr<T>, 256> places_;
};

}  // namespace muster
