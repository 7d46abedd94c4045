// How a game server stands, as it is shown everywhere.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/field_types.h"

namespace muster {

enum class ServerStatus : std::int8_t { available = 0, full = 1, draining = 2, offline = 3 };

template <>
struct EnumRange<ServerStatus> {
    static constexpr auto first = ServerStatus::available;
    static constexpr auto last = ServerStatus::offline;
};

constexpr std::string_view to_string(ServerStatus status) {
    switch (status) {
        case ServerStatus::available:
            return "available";
        case ServerStatus::full:
            return "full";
        case ServerStatus::draining:
            return "draining";
        case ServerStatus::offline:
            return "offline";
    }
    return "";
}

}  // namespace muster
