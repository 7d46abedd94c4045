// The forms that several answers share.
#pragma once

#include "base/ids.h"
#include "protocol/text.h"

namespace muster {

struct Refused {
    ErrorText error{};

    static constexpr void layout(auto& self, auto& wire) { wire("error", self.error); }
    bool operator==(const Refused&) const = default;
};

struct LobbyAccepted {
    LobbyId lobby{};

    static constexpr void layout(auto& self, auto& wire) { wire("lobby_id", self.lobby); }
    bool operator==(const LobbyAccepted&) const = default;
};

struct LobbyRefused {
    LobbyId lobby{};
    ErrorText error{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("lobby_id", self.lobby);
        wire("error", self.error);
    }
    bool operator==(const LobbyRefused&) const = default;
};

}  // namespace muster
