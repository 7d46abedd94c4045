// The GameServer object of the Agones SDK, as a process reads and watches it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::agones {

enum class State : std::uint8_t { scheduled, request_ready, ready, reserved, allocated, unhealthy, shutdown };

// As Agones writes it: "RequestReady".
std::string_view to_string(State state);
std::optional<State> state_named(std::string_view name);

// Keeps the memory that one process can make us hold within bounds.
inline constexpr std::size_t name_bytes_max = 256;  // a label's key, a player's id, a list's value
inline constexpr std::size_t metadata_value_bytes_max = 4096;
inline constexpr std::size_t metadata_bytes_max = 64 * 1024;  // all labels, or all annotations
inline constexpr std::size_t players_max = 10'000;
inline constexpr std::int64_t list_capacity_max = 1000;  // Agones' own

using TextMap = std::map<std::string, std::string, std::less<>>;

struct Counter {
    std::int64_t count = 0;
    std::int64_t capacity = 0;
    bool operator==(const Counter&) const = default;
};

struct List {
    std::int64_t capacity = 0;
    std::vector<std::string> values{};
    bool operator==(const List&) const = default;
};

using Counters = std::map<std::string, Counter, std::less<>>;
using Lists = std::map<std::string, List, std::less<>>;

struct Players {
    std::int64_t capacity = 0;
    std::vector<std::string> ids{};
    bool operator==(const Players&) const = default;
};

struct Health {
    bool disabled = false;
    std::int32_t period_seconds = 5;
    std::int32_t failure_threshold = 3;
    std::int32_t initial_delay_seconds = 5;
    bool operator==(const Health&) const = default;
};

struct GameServer {
    std::string name{};
    std::string namespace_name = "default";
    std::string uid{};
    std::int64_t version = 1;     // counts the changes: resource_version and generation
    std::int64_t created_at = 0;  // Unix seconds
    std::int64_t deleted_at = 0;  // Unix seconds; 0 while it lives
    TextMap annotations{};
    TextMap labels{};
    Health health{};
    State state = State::scheduled;
    std::string address{};
    std::uint16_t port = 0;
    std::optional<Players> players{};  // none: player tracking is off
    Counters counters{};
    Lists lists{};
    bool operator==(const GameServer&) const = default;
};

}  // namespace muster::agones
