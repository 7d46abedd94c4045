// The player port: what players and Muster say to each other. Where both use one code, each direction has its struct.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "protocol/answer_forms.h"
#include "protocol/field_types.h"
#include "protocol/game_endpoint.h"
#include "protocol/message.h"
#include "protocol/port.h"
#include "protocol/text.h"

namespace muster {

enum class TimeUnit : std::uint8_t { hour = 1, minute = 2, day = 3 };

template <>
struct EnumRange<TimeUnit> {
    static constexpr auto first = TimeUnit::hour;
    static constexpr auto last = TimeUnit::day;
};

constexpr std::string_view to_string(TimeUnit unit) {
    switch (unit) {
        case TimeUnit::hour:
            return "hour";
        case TimeUnit::minute:
            return "minute";
        case TimeUnit::day:
            return "day";
    }
    return "";
}

struct PlayerLogout {
    static constexpr Code code = 6;
    static constexpr std::string_view name = "MSG_LOGOUT";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "The player leaves on purpose.";

    static constexpr void layout(auto&, auto&) {}
    bool operator==(const PlayerLogout&) const = default;
};

struct PingEcho {
    static constexpr Code code = 9;
    static constexpr std::string_view name = "MSG_PING";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "Echoes a ping. It is not activity, and it is never answered.";

    static constexpr void layout(auto&, auto&) {}
    bool operator==(const PingEcho&) const = default;
};

struct Ping {
    static constexpr Code code = 9;
    static constexpr std::string_view name = "MSG_PING";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "Asks for an echo, about every thirty seconds.";

    static constexpr void layout(auto&, auto&) {}
    bool operator==(const Ping&) const = default;
};

struct PlayerLogin {
    static constexpr Code code = 10;
    static constexpr std::string_view name = "MSG_LOGIN";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about =
        "Logs the player in. With the resume token of a lost link its session goes on; it may be empty.";

    NameText player_name{};
    CredentialText credential{};
    ResumeTokenText resume_token{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("name", self.player_name);
        wire("credential", self.credential);
        wire("resume_token", self.resume_token);
    }
    bool operator==(const PlayerLogin&) const = default;
};

struct PlayerLoginResponse {
    static constexpr Code code = 10;
    static constexpr std::string_view name = "MSG_LOGIN";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "The player's id, and the token that resumes this session once.";
    using Answers = MessageList<PlayerLogin>;

    struct Accepted {
        AccountId player;
        ResumeTokenText resume_token;

        static constexpr void layout(auto& self, auto& wire) {
            wire("player_id", self.player);
            wire("resume_token", self.resume_token);
        }
        bool operator==(const Accepted&) const = default;
    };
    using Refused = muster::Refused;

    Either<Accepted, Refused> answer{};

    static constexpr void layout(auto& self, auto& wire) { wire("success", self.answer); }
    bool operator==(const PlayerLoginResponse&) const = default;
};

struct TimeChange {
    static constexpr Code code = 21;
    static constexpr std::string_view name = "MSG_TIME";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "The world clock moved on: the new hour, minute or day.";

    TimeUnit unit = TimeUnit::minute;
    std::uint8_t value = 0;

    static constexpr void layout(auto& self, auto& wire) {
        wire("update_type", self.unit);
        wire("value", self.value);
    }
    bool operator==(const TimeChange&) const = default;
};

struct ServerClose {
    static constexpr Code code = 24;
    static constexpr std::string_view name = "MSG_SERVER_CLOSE";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "Muster closes the link, and why.";

    ReasonText reason{};

    static constexpr void layout(auto& self, auto& wire) { wire("reason", self.reason); }
    bool operator==(const ServerClose&) const = default;
};

struct TimeUpdate {
    static constexpr Code code = 74;
    static constexpr std::string_view name = "MSG_TIME_UPDATE";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "The whole world clock. Day 1 is Sunday.";

    std::uint8_t day = 0;
    std::uint8_t hour = 0;
    std::uint8_t minute = 0;

    static constexpr void layout(auto& self, auto& wire) {
        wire("day", self.day);
        wire("hour", self.hour);
        wire("minute", self.minute);
    }
    bool operator==(const TimeUpdate&) const = default;
};

struct PingRequest {
    static constexpr Code code = 117;
    static constexpr std::string_view name = "MSG_PING_REQ";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "The player measures the round trip.";

    static constexpr void layout(auto&, auto&) {}
    bool operator==(const PingRequest&) const = default;
};

struct PingReply {
    static constexpr Code code = 117;
    static constexpr std::string_view name = "MSG_PING_REQ";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "Echoes the request at once.";
    using Answers = MessageList<PingRequest>;

    static constexpr void layout(auto&, auto&) {}
    bool operator==(const PingReply&) const = default;
};

struct EntityHeartbeatAnswer {
    static constexpr Code code = 200;
    static constexpr std::string_view name = "MSG_HEARTBEAT";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "Answers a heartbeat: status 1 is success, any other a failure.";

    std::uint32_t request_id = 0;
    std::uint8_t status = 0;

    static constexpr void layout(auto& self, auto& wire) {
        wire("request_id", self.request_id);
        wire("status", self.status);
    }
    bool operator==(const EntityHeartbeatAnswer&) const = default;
};

struct EntityHeartbeat {
    static constexpr Code code = 200;
    static constexpr std::string_view name = "MSG_HEARTBEAT";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "Asks the client whether it still moves its entity.";

    std::uint32_t request_id = 0;

    static constexpr void layout(auto& self, auto& wire) { wire("request_id", self.request_id); }
    bool operator==(const EntityHeartbeat&) const = default;
};

struct ClockSync {
    static constexpr Code code = 201;
    static constexpr std::string_view name = "MSG_CLOCK_SYNC";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "The client's time, to find the offset between the clocks.";

    std::int64_t client_send_us = 0;

    static constexpr void layout(auto& self, auto& wire) { wire("client_send_us", self.client_send_us); }
    bool operator==(const ClockSync&) const = default;
};

struct ClockSyncReply {
    static constexpr Code code = 201;
    static constexpr std::string_view name = "MSG_CLOCK_SYNC";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "That time again, when it came, and when this left.";
    using Answers = MessageList<ClockSync>;

    std::int64_t client_send_us = 0;
    std::int64_t server_receive_us = 0;
    std::int64_t server_send_us = 0;

    static constexpr void layout(auto& self, auto& wire) {
        wire("client_send_us", self.client_send_us);
        wire("server_receive_us", self.server_receive_us);
        wire("server_send_us", self.server_send_us);
    }
    bool operator==(const ClockSyncReply&) const = default;
};

struct PlayerMatchStart {
    static constexpr Code code = 202;
    static constexpr std::string_view name = "MSG_MATCH_START";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "The match waits at this server; the token lets the player in.";

    LobbyId lobby{};
    GameEndpoint endpoint{};
    MatchTokenText token{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("lobby_id", self.lobby);
        GameEndpoint::layout(self.endpoint, wire);
        wire("token", self.token);
    }
    bool operator==(const PlayerMatchStart&) const = default;
};

struct PlayerMatchAborted {
    static constexpr Code code = 203;
    static constexpr std::string_view name = "MSG_MATCH_ABORTED";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "The match fell through, and why.";

    LobbyId lobby{};
    ReasonText reason{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("lobby_id", self.lobby);
        wire("reason", self.reason);
    }
    bool operator==(const PlayerMatchAborted&) const = default;
};

struct PlayerActivity {
    static constexpr Code code = 204;
    static constexpr std::string_view name = "MSG_ACTIVITY";
    static constexpr Port port = Port::players;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "The least sign of a person's activity.";

    static constexpr void layout(auto&, auto&) {}
    bool operator==(const PlayerActivity&) const = default;
};

// Every message of the port, by ascending code.
using PlayerPortMessages =
    MessageList<PlayerLogout, PingEcho, Ping, PlayerLogin, PlayerLoginResponse, TimeChange, ServerClose, TimeUpdate,
                PingRequest, PingReply, EntityHeartbeatAnswer, EntityHeartbeat, ClockSync, ClockSyncReply,
                PlayerMatchStart, PlayerMatchAborted, PlayerActivity>;

}  // namespace muster
