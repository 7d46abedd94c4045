// Which messages begin a peer's link, and which answer those, at each port.
#pragma once

#include "protocol/host_messages.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/player_messages.h"
#include "protocol/port.h"
#include "protocol/server_messages.h"

namespace muster {

// A peer's first message: nothing else is heard before it.
constexpr bool is_greeting(Port port, Code code) {
    switch (port) {
        case Port::servers:
            return code == ServerHandshake::code || code == HostHello::code;
        case Port::matchmakers:
            return code == MatchmakerHandshake::code;
        case Port::players:
            return code == PlayerLogin::code;
    }
    return false;
}

// What it is answered with, whether it is accepted or not.
constexpr bool is_greeting_answer(Port port, Code code) {
    switch (port) {
        case Port::servers:
            return code == ServerHandshakeResponse::code || code == HostWelcome::code;
        case Port::matchmakers:
            return code == MatchmakerHandshakeResponse::code;
        case Port::players:
            return code == PlayerLoginResponse::code;
    }
    return false;
}

}  // namespace muster
