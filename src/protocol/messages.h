// All messages of all ports, and what their codes mean.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/matchmaker_messages.h"
#include "protocol/message.h"
#include "protocol/player_messages.h"
#include "protocol/port.h"
#include "protocol/server_messages.h"

namespace muster {

namespace wire {

template <Port>
struct MessagesOfPort;
template <>
struct MessagesOfPort<Port::servers> {
    using Messages = ServerPortMessages;
};
template <>
struct MessagesOfPort<Port::matchmakers> {
    using Messages = MatchmakerPortMessages;
};
template <>
struct MessagesOfPort<Port::players> {
    using Messages = PlayerPortMessages;
};

}  // namespace wire

template <Port At>
using MessagesOf = typename wire::MessagesOfPort<At>::Messages;

// Calls visit.operator()<M>() for each message of each port.
constexpr void for_each_message(auto&& visit) {
    ServerPortMessages::for_each(visit);
    MatchmakerPortMessages::for_each(visit);
    PlayerPortMessages::for_each(visit);
}

// Codes that a player may send with any payload: the game's own.
inline constexpr Code game_code_first = 1000;
inline constexpr Code game_code_last = 4095;
constexpr bool is_game_code(Code code) {
    return code >= game_code_first && code <= game_code_last;
}

enum class CodeClass : std::uint8_t { known, unknown_code, wrong_direction };

// What `code` is on that port from that side. Another port's code is unknown; the game's own are known from players.
CodeClass classify(Port port, Direction direction, Code code);

// The specification's name, "game" for a player's own codes, empty for what classify() does not call known.
std::string_view message_name(Port port, Direction direction, Code code);

}  // namespace muster
