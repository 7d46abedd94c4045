// Every call of the Agones SDK as plain values: what REST and gRPC decode, what the session answers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agones/game_server.h"
#include "base/result.h"

namespace muster::agones {

// gRPC's numbers, which the JSON carries too.
enum class Code : std::uint8_t {
    unknown = 2,
    invalid_argument = 3,
    not_found = 5,
    resource_exhausted = 8,
    unimplemented = 12,
    unavailable = 14,
};

struct Refused {
    Code code = Code::unknown;
    std::string message{};
    bool operator==(const Refused&) const = default;
};

struct Ready {};
struct Allocate {};
struct Shutdown {};
struct HealthPing {
    bool by_stream = false;  // of gRPC; many clients open it once, and never again
};
struct GetGameServer {};
struct SetLabel {
    std::string key{};
    std::string value{};
};
struct SetAnnotation {
    std::string key{};
    std::string value{};
};
struct Reserve {
    std::int64_t seconds = 0;  // 0 and less: until further notice
};

// Alpha: player tracking.
struct PlayerConnect {
    std::string id{};
};
struct PlayerDisconnect {
    std::string id{};
};
struct IsPlayerConnected {
    std::string id{};
};
struct GetConnectedPlayers {};
struct GetPlayerCount {};
struct GetPlayerCapacity {};
struct SetPlayerCapacity {
    std::int64_t count = 0;
};

// Beta: counters and lists.
struct GetCounter {
    std::string name{};
};
struct UpdateCounter {
    std::string name{};
    std::optional<std::int64_t> count{};
    std::optional<std::int64_t> capacity{};
    std::int64_t difference = 0;
};
struct GetList {
    std::string name{};
};
struct UpdateList {
    std::string name{};
    List list{};
    std::vector<std::string> mask{};  // fields of the list to replace; empty merges
};
struct AddListValue {
    std::string name{};
    std::string value{};
};
struct RemoveListValue {
    std::string name{};
    std::string value{};
};

using Call =
    std::variant<Ready, Allocate, Shutdown, HealthPing, GetGameServer, SetLabel, SetAnnotation, Reserve, PlayerConnect,
                 PlayerDisconnect, IsPlayerConnected, GetConnectedPlayers, GetPlayerCount, GetPlayerCapacity,
                 SetPlayerCapacity, GetCounter, UpdateCounter, GetList, UpdateList, AddListValue, RemoveListValue>;

struct Empty {};
struct Flag {
    bool value = false;
};
struct Count {
    std::int64_t value = 0;
};
struct PlayerIds {
    std::vector<std::string> values{};
};
struct NamedCounter {
    std::string name{};
    Counter counter{};
};
struct NamedList {
    std::string name{};
    List list{};
};
using SharedGameServer = std::shared_ptr<const GameServer>;

using Answer = std::variant<Empty, Flag, Count, PlayerIds, NamedCounter, NamedList, SharedGameServer>;
using Reply = Result<Answer, Refused>;

}  // namespace muster::agones
