// How each server's load went over the last minutes, sampled from the views.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/fields.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/views.h"

namespace muster {

// HTTP thread only. All servers are sampled at the same moments. Equal samples in a row are one run of 8 bytes, so that
// a server that does nothing costs 24 bytes, and a busy one 8 bytes a sample. A server that is gone is forgotten with
// its last sample.
class ServerSamples {
public:
    static constexpr std::size_t kept = 60;
    static constexpr std::chrono::seconds every{10};

    void add(const FleetView& view);

    // Tells "history": [{"time_ms","matches","cpu","memory","rtt_ms"}], oldest first. Percentages in steps of 0.4,
    // round trips in steps of 10 us up to 655 ms.
    void describe(ServerId server, FieldSink& out) const;

    std::size_t servers() const { return histories_.size(); }

private:
    struct Sample {
        std::int16_t load = -1;  // -1: it was not there
        std::uint8_t cpu = 0;    // of 250
        std::uint8_t memory = 0;
        std::uint16_t rtt_10us = 0;

        bool operator==(const Sample&) const = default;
    };
    struct Run {
        Sample sample;
        std::uint16_t times = 0;
    };
    static_assert(sizeof(Run) == 8);
    // All runs together are as many times as there are moments, or fewer.
    struct History {
        Run latest;
        std::uint32_t last = 0;                       // which sampling it was last seen in
        std::unique_ptr<std::vector<Run>> earlier{};  // oldest first; null: none, as of a server that does nothing
    };
    static_assert(sizeof(History) == 24);

    static Sample sample_of(const ServerRow& row);
    static void append(History& history, const Sample& sample);
    static std::size_t moments(const History& history);

    std::array<UnixMs, kept> times_{};
    std::uint32_t samplings_ = 0;
    boost::unordered_flat_map<ServerId, History, std::hash<ServerId>> histories_;
};

}  // namespace muster
