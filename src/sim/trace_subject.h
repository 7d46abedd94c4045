// What a line of the trace says of a message or an event, and which lobby and server it is about.
#pragma once

#include <string>
#include <variant>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/json_fields.h"
#include "protocol/dispatch.h"
#include "protocol/json_view.h"
#include "protocol/messages.h"

namespace muster::sim {

// The id that the message or event carries, or one of the forms of its answer; none: 0.
template <class M>
LobbyId lobby_in(const M& message) {
    if constexpr (requires { message.lobby; }) {
        return message.lobby;
    } else if constexpr (requires { message.answer; }) {
        return std::visit(
            [](const auto& form) {
                if constexpr (requires { form.lobby; }) return form.lobby;
                return LobbyId();
            },
            message.answer);
    } else {
        return {};
    }
}

template <class M>
ServerId server_in(const M& message) {
    if constexpr (requires { message.server; }) {
        return message.server;
    } else if constexpr (requires { message.answer; }) {
        return std::visit(
            [](const auto& form) {
                if constexpr (requires { form.server; }) return form.server;
                return ServerId();
            },
            message.answer);
    } else {
        return {};
    }
}

template <Message M>
std::string trace_text(const M& message) {
    return fmt::format("{} {}", M::name.substr(M::name.find('_', 9) + 1), to_json(message));
}
inline std::string trace_text(const GameMessage& message) {
    return fmt::format("the game's {}", message.code);
}

template <class E>
    requires requires(const E& event, JsonFields& json) { event.describe(json); }
std::string trace_text(const E& event) {
    JsonFields json;
    event.describe(json);
    return json.finish();
}

}  // namespace muster::sim
