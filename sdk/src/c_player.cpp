#include <memory>
#include <span>
#include <utility>

#include "muster/frames.h"
#include "muster/world_time.h"
#include "sdk/src/c_client.h"

using namespace muster::sdk;

static_assert(Player::message_size_max == MUSTER_PLAYER_MESSAGE_SIZE_MAX);

namespace {

PlayerOptions options_of(const muster_player_options& given) {
    PlayerOptions options{.little_endian = given.little_endian};
    set_time(options.ping_timeout, given.ping_timeout_us);
    set_time(options.resume_grace, given.resume_grace_us);
    set_time(options.clock_sync_interval, given.clock_sync_interval_us);
    return options;
}

muster_world_time c_world_time(const WorldTime& time) {
    return {time.day, time.hour, time.minute};
}

void set_session_callbacks(PlayerCallbacks& callbacks, const muster_player_options& given) {
    void* const user = given.user;
    if (const auto function = given.on_login) {
        callbacks.on_login = [function, user](const LoggedIn& login) {
            function(user, login.player.value, login.resumed);
        };
    }
    if (const auto function = given.on_refused) {
        callbacks.on_refused = [function, user](const Outcome& why) {
            function(user, static_cast<int>(why.code), why.text.c_str());
        };
    }
    if (const auto function = given.on_closed) {
        callbacks.on_closed = [function, user](std::string_view reason, bool comes_back) {
            function(user, std::string(reason).c_str(), comes_back);
        };
    }
    if (const auto function = given.on_link) {
        callbacks.on_link = [function, user](LinkState state) {
            function(user, static_cast<enum muster_link_state>(state));
        };
    }
    if (const auto function = given.on_heartbeat) {
        callbacks.on_heartbeat = [function, user] { return function(user); };
    }
    callbacks.on_error = c_on_error(given.on_error, user);
}

PlayerCallbacks callbacks_of(const muster_player_options& given) {
    void* const user = given.user;
    PlayerCallbacks callbacks;
    set_session_callbacks(callbacks, given);
    if (const auto function = given.on_match_start) {
        callbacks.on_match_start = [function, user](const MatchStart& match) {
            const muster_match_start shown{match.lobby.value, match.ip.c_str(), match.port, match.token.c_str()};
            function(user, &shown);
        };
    }
    if (const auto function = given.on_match_aborted) {
        callbacks.on_match_aborted = [function, user](LobbyId lobby, std::string_view reason) {
            function(user, lobby.value, std::string(reason).c_str());
        };
    }
    if (const auto function = given.on_time) {
        callbacks.on_time = [function, user](const WorldTime& time) {
            const muster_world_time shown = c_world_time(time);
            function(user, &shown);
        };
    }
    if (const auto function = given.on_ping) {
        callbacks.on_ping = [function, user](Duration round_trip) {
            function(user, std::chrono::round<std::chrono::microseconds>(round_trip).count());
        };
    }
    return callbacks;
}

}  // namespace

muster_player* muster_player_new(const muster_player_options* options, char* why, size_t why_size) {
    const auto make = [&] {
        const auto known = known_part(options);
        return std::make_unique<muster_player>(options_of(known), callbacks_of(known)).release();
    };
    return made_or_null(make, why, why_size);
}

void muster_player_free(muster_player* player) {
    delete player;
}

muster_client* muster_player_client(muster_player* player) {
    return player;
}

bool muster_player_login(muster_player* player, const char* name, const char* credential) {
    return attempt_on(player, [&](auto& it) { it.player.login(c_string(name), c_string(credential)); });
}

bool muster_player_logout(muster_player* player) {
    return attempt_on(player, [&](auto& it) { it.player.logout(); });
}

bool muster_player_request_ping(muster_player* player) {
    return attempt_on(player, [&](auto& it) { return it.player.request_ping(); });
}

bool muster_player_activity(muster_player* player) {
    return attempt_on(player, [&](auto& it) { it.player.activity(); });
}

bool muster_player_send(muster_player* player, uint16_t code, const void* bytes, size_t count) {
    if (!is_list(bytes, count)) return false;
    const std::span payload(static_cast<const std::byte*>(bytes), count);
    return attempt_on(player, [&](auto& it) { return it.player.send(code, payload); });
}

int32_t muster_player_id(const muster_player* player) {
    return player ? player->player.id().value_or(AccountId{}).value : 0;
}

bool muster_player_world_time(const muster_player* player, muster_world_time* time) {
    if (!player || !time) return false;
    const std::optional<WorldTime> known = player->player.world_time();
    if (known) *time = c_world_time(*known);
    return known.has_value();
}

// Every name is a literal, so it ends with a zero.
const char* muster_day_name(int day) {
    return day_name(day).data();
}

bool muster_is_night(int hour) {
    return is_night(hour);
}

uint32_t muster_frames_to_ping_ms(uint32_t frames, uint32_t fps) {
    return frames_to_ping_ms(frames, fps);
}
