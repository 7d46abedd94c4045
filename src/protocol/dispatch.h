// From a frame to the handler of its message.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/result.h"
#include "protocol/codec.h"
#include "protocol/messages.h"
#include "protocol/port.h"
#include "protocol/wire_error.h"

namespace muster {

// One of the game's own messages, which Muster carries but does not read.
struct GameMessage {
    Code code = 0;
    std::span<const std::byte> payload{};  // borrowed from the frame
};

namespace wire {

// A message of the other direction needs no handler.
template <Message M, Direction From, class Visitor>
Result<void, WireError> visit_as(ByteOrder order, std::span<const std::byte> payload, Visitor& visitor) {
    if constexpr (M::direction == From) {
        auto message = decode<M>(payload, order);
        if (!message) return Failure(message.error());
        visitor(*std::move(message));
        return {};
    } else {
        return Failure(WireError::wrong_direction);
    }
}

// Compares with the few codes of that direction, one after the other.
template <Direction From, class Visitor, class... M>
Result<void, WireError> visit_one_of(MessageList<M...>, ByteOrder order, Code code, std::span<const std::byte> payload,
                                     Visitor& visitor) {
    Result<void, WireError> result = Failure(WireError::unknown_code);
    const bool found =
        ((M::direction == From && code == M::code && (result = visit_as<M, From>(order, payload, visitor), true)) ||
         ...);
    if (!found && ((code == M::code) || ...)) result = Failure(WireError::wrong_direction);
    return result;
}

}  // namespace wire

// Decodes the frame and calls `visitor` with the struct of its message, or with a GameMessage. The visitor takes every
// message of that port in that direction. On a fault it is not called.
template <Port At, Direction From, class Visitor>
[[nodiscard]] Result<void, WireError> visit_frame(ByteOrder order, Code code, std::span<const std::byte> payload,
                                                  Visitor&& visitor) {
    if constexpr (At == Port::players) {
        if (is_game_code(code)) {
            if constexpr (From == Direction::out) return Failure(WireError::wrong_direction);
            if constexpr (From == Direction::in) visitor(GameMessage{code, payload});
            return {};
        }
    }
    return wire::visit_one_of<From>(MessagesOf<At>{}, order, code, payload, visitor);
}

// What a peer sent us.
template <Port At, class Visitor>
[[nodiscard]] Result<void, WireError> visit_inbound(ByteOrder order, Code code, std::span<const std::byte> payload,
                                                    Visitor&& visitor) {
    return visit_frame<At, Direction::in>(order, code, payload, visitor);
}

// What Muster sent to a client of that port.
template <Port At, class Visitor>
[[nodiscard]] Result<void, WireError> visit_outbound(ByteOrder order, Code code, std::span<const std::byte> payload,
                                                     Visitor&& visitor) {
    return visit_frame<At, Direction::out>(order, code, payload, visitor);
}

// The same for a port known at run time only: the visitor takes the messages of all three.
template <class Visitor>
[[nodiscard]] Result<void, WireError> visit_inbound(Port port, ByteOrder order, Code code,
                                                    std::span<const std::byte> payload, Visitor&& visitor) {
    switch (port) {
        case Port::servers:
            return visit_inbound<Port::servers>(order, code, payload, visitor);
        case Port::matchmakers:
            return visit_inbound<Port::matchmakers>(order, code, payload, visitor);
        case Port::players:
            return visit_inbound<Port::players>(order, code, payload, visitor);
    }
    return Failure(WireError::unknown_code);
}

}  // namespace muster
