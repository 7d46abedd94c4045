// One entry of the agent's config: a command, how many processes of it, and how they are treated (G-1).
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/sdk_side.h"
#include "base/time.h"
#include "config/config_units.h"

namespace muster {

// Both ends belong to it.
struct PortRange {
    std::uint16_t first = 7000;
    std::uint16_t last = 7999;

    std::size_t size() const { return static_cast<std::size_t>(last - first) + 1; }
    bool holds(std::uint16_t port) const { return first <= port && port <= last; }
    bool operator==(const PortRange&) const = default;
};

// What an Agones process may count (counters and lists of its SDK).
struct CounterConfig {
    std::string name;
    std::int64_t count = 0;
    std::int64_t capacity = 0;
    bool operator==(const CounterConfig&) const = default;
};
struct ListConfig {
    std::string name;
    std::int64_t capacity = 0;
    std::vector<std::string> values;
    bool operator==(const ListConfig&) const = default;
};

// A plain value. load_agent_config() makes one that is whole and within its limits.
struct RunConfig {
    std::string name;
    std::vector<std::string> command;
    std::string directory = ".";
    std::vector<EnvironmentEntry> env;  // by ascending name
    std::int32_t count = 1;
    std::int32_t count_max = 1;
    std::int32_t slots = 1;
    SdkKind sdk = SdkKind::muster;
    double cpu = 0;     // cores that each process may use; 0: the host's, divided by count
    ByteSize memory{};  // the same for memory
    Duration start_timeout = std::chrono::minutes(5);
    int stop_signal = SIGTERM;
    Duration stop_grace = std::chrono::seconds(30);
    Duration stop_grace_allocated = std::chrono::hours(1);
    std::optional<Duration> ready_after;  // none: once its port is bound
    ByteSize log_size = mebibytes(10);
    std::int32_t log_files = 3;
    Duration health_period = std::chrono::seconds(5);
    std::int32_t health_failures = 3;
    Duration health_delay = std::chrono::seconds(5);
    std::vector<EnvironmentEntry> labels;  // by ascending name
    bool player_tracking = false;          // sdk = "agones" only, as the next two
    std::vector<CounterConfig> counters;
    std::vector<ListConfig> lists;
    bool ignore_health = false;  // sdk = "gsdk" only

    bool operator==(const RunConfig&) const = default;
};

}  // namespace muster
