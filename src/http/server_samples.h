// How each server's load went over the last minutes, sampled from the views.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/views.h"

namespace muster {

// HTTP thread only. All servers are sampled at the same moments, so that a server costs 16 bytes a sample; one that is
// gone is forgotten with its last sample.
class ServerSamples {
public:
    static constexpr std::size_t kept = 60;
    static constexpr std::chrono::seconds every{10};

    struct Sample {
        std::int32_t load = -1;  // -1: it was not there
        float cpu_percent = 0;
        float memory_percent = 0;
        std::uint32_t rtt_us = 0;
    };

    void add(const FleetView& view);

    // Tells "history": [{"time_ms","matches","cpu","memory","rtt_ms"}], oldest first.
    void describe(ServerId server, FieldSink& out) const;

    std::size_t servers() const { return rings_.size(); }

private:
    struct Ring {
        std::array<Sample, kept> samples{};
        std::uint64_t last = 0;  // which sampling it was last seen in
    };

    std::array<UnixMs, kept> times_{};
    std::uint64_t samplings_ = 0;
    std::unordered_map<ServerId, Ring> rings_;
};

}  // namespace muster
