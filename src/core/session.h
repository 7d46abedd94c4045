// A player's session: what is kept of one who is logged in, or was a moment ago.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "base/short_time.h"
#include "base/time.h"
#include "core/entities.h"
#include "runtime/timer_id.h"

namespace muster {

// What every message and every deadline touches: one cache line. Moments are in running time.
struct alignas(64) Session {
    ConnectionId link;  // none while it is in its grace
    AccountId player;
    TimerId timer;
    EntityId entity;
    ShortTime due;  // the next ping; in the grace, its end
    ShortTime last_echo;
    ShortTime last_activity;
    ShortTime last_message;
    std::uint32_t rtt_us = 0;  // of the last ping; 0 before the first
    std::uint32_t smoothed_us = 0;
    std::uint32_t jitter_us = 0;
    std::uint8_t pings_out = 0;  // not echoed
    std::uint8_t name_size = 0;
    bool taken = false;  // the place holds a session
    bool idle = false;

    bool connected() const { return link.generation != 0; }
};
static_assert(sizeof(Session) == 64);

// The rest, apart.
struct SessionDetails {
    Time ping_sent;  // in real time
    UnixMs connected_at;
    std::array<std::byte, 16> resume_token{};
    std::array<char, 32> name{};

    std::string_view name_of(const Session& session) const { return {name.data(), session.name_size}; }
};
static_assert(sizeof(SessionDetails) == 64);

}  // namespace muster
