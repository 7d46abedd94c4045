// The JSON of the GSDK: heartbeats, their answers, and the config file that a process is started with (G-30).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gsdk/session.h"

namespace muster::gsdk {

inline constexpr int heartbeat_interval_ms = 1000;

// Keys in any case, players null or a list, empty health is healthy. None when it is no JSON object.
std::optional<Heartbeat> heartbeat_of(std::string_view body);

// {"operation":"Continue","nextHeartbeatIntervalMs":1000}
std::string to_json(const HeartbeatAnswer& answer);

// What GSDK_CONFIG_FILE holds.
struct ConfigFile {
    std::string heartbeat_endpoint{};  // "127.0.0.1:45001"
    std::string session_host_id{};
    std::string vm_id{};  // the host
    std::string log_folder{};
    std::string shared_folder{};
    std::string certificate_folder{};
    std::string build_id{};  // the run
    std::string address{};
    std::string domain_name{};
    std::uint16_t port = 0;
    int instance_number = 0;
};

std::string to_json(const ConfigFile& file);

}  // namespace muster::gsdk
