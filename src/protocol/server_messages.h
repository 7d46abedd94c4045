// The server port: what game servers and Muster say to each other.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "protocol/answer_forms.h"
#include "protocol/field_types.h"
#include "protocol/game_endpoint.h"
#include "protocol/host_messages.h"
#include "protocol/message.h"
#include "protocol/port.h"
#include "protocol/server_status.h"
#include "protocol/text.h"

namespace muster {

struct ServerHandshake {
    static constexpr Code code = 0x1000;
    static constexpr std::string_view name = "NET_CHAT_SV_HANDSHAKE";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about =
        "Registers the game server, or resumes it when the same ip:port comes back in time.";

    HandshakeTokenText token{};
    GameEndpoint endpoint{};
    RegionId region{};
    std::int32_t max_matches = 0;

    static constexpr void layout(auto& self, auto& wire) {
        wire("token", self.token);
        GameEndpoint::layout(self.endpoint, wire);
        wire("region", self.region);
        wire("max_matches", self.max_matches);
    }
    bool operator==(const ServerHandshake&) const = default;
};

struct ServerHandshakeResponse {
    static constexpr Code code = 0x1001;
    static constexpr std::string_view name = "NET_CHAT_SV_HANDSHAKE_RESPONSE";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "The id that the server has from now on, and the time.";
    using Answers = MessageList<ServerHandshake>;

    struct Accepted {
        ServerId server;
        UnixMs time;

        static constexpr void layout(auto& self, auto& wire) {
            wire("server_id", self.server);
            wire("time_ms", self.time);
        }
        bool operator==(const Accepted&) const = default;
    };
    using Refused = muster::Refused;

    Either<Accepted, Refused> answer{};

    static constexpr void layout(auto& self, auto& wire) { wire("success", self.answer); }
    bool operator==(const ServerHandshakeResponse&) const = default;
};

struct ServerHeartbeat {
    static constexpr Code code = 0x1002;
    static constexpr std::string_view name = "NET_CHAT_SV_HEARTBEAT";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "A sign of life with the load, every ten seconds.";

    ServerId server{};
    std::int32_t match_count = 0;
    float cpu_percent = 0;
    float memory_percent = 0;

    static constexpr void layout(auto& self, auto& wire) {
        wire("server_id", self.server);
        wire("match_count", self.match_count);
        wire("cpu", self.cpu_percent);
        wire("memory", self.memory_percent);
    }
    bool operator==(const ServerHeartbeat&) const = default;
};

struct ServerHeartbeatAck {
    static constexpr Code code = 0x1003;
    static constexpr std::string_view name = "NET_CHAT_SV_HEARTBEAT_ACK";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "The time, for the game server to set its clock by.";
    using Answers = MessageList<ServerHeartbeat>;

    struct Accepted {
        UnixMs time;

        static constexpr void layout(auto& self, auto& wire) { wire("time_ms", self.time); }
        bool operator==(const Accepted&) const = default;
    };
    using Refused = muster::Refused;

    Either<Accepted, Refused> answer{};

    static constexpr void layout(auto& self, auto& wire) { wire("success", self.answer); }
    bool operator==(const ServerHeartbeatAck&) const = default;
};

struct AllocateMatch {
    static constexpr Code code = 0x1004;
    static constexpr std::string_view name = "NET_CHAT_SV_ALLOCATE_MATCH";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "Offers a match. The server has five seconds to acknowledge it.";

    LobbyId lobby{};
    std::int8_t game_type = 0;
    std::int8_t game_mode = 0;
    MatchTokenText token{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("lobby_id", self.lobby);
        wire("game_type", self.game_type);
        wire("game_mode", self.game_mode);
        wire("token", self.token);
    }
    bool operator==(const AllocateMatch&) const = default;
};

struct AllocateMatchAck {
    static constexpr Code code = 0x1005;
    static constexpr std::string_view name = "NET_CHAT_SV_ALLOCATE_MATCH_ACK";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "Takes the offered match, or declines it.";

    bool accepted = false;
    LobbyId lobby{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("success", self.accepted);
        wire("lobby_id", self.lobby);
    }
    bool operator==(const AllocateMatchAck&) const = default;
};

struct ReadyForMatch {
    static constexpr Code code = 0x1006;
    static constexpr std::string_view name = "NET_CHAT_SV_READY_FOR_MATCH";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "The server waits for the players of this match.";

    ServerId server{};
    LobbyId lobby{};
    MatchTokenText token{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("server_id", self.server);
        wire("lobby_id", self.lobby);
        wire("token", self.token);
    }
    bool operator==(const ReadyForMatch&) const = default;
};

struct ReadyForMatchResponse {
    static constexpr Code code = 0x1007;
    static constexpr std::string_view name = "NET_CHAT_SV_READY_FOR_MATCH_RESPONSE";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "Whether the players are sent.";
    using Answers = MessageList<ReadyForMatch>;

    using Accepted = LobbyAccepted;
    using Refused = LobbyRefused;

    Either<Accepted, Refused> answer{};

    static constexpr void layout(auto& self, auto& wire) { wire("success", self.answer); }
    bool operator==(const ReadyForMatchResponse&) const = default;
};

struct ValidateToken {
    static constexpr Code code = 0x1008;
    static constexpr std::string_view name = "NET_CHAT_SV_VALIDATE_TOKEN";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about =
        "A player came with this token: is it good? A good one is used up for that account.";

    ServerId server{};
    LobbyId lobby{};
    AccountId account{};
    MatchTokenText token{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("server_id", self.server);
        wire("lobby_id", self.lobby);
        wire("account_id", self.account);
        wire("token", self.token);
    }
    bool operator==(const ValidateToken&) const = default;
};

struct ValidateTokenResponse {
    static constexpr Code code = 0x1009;
    static constexpr std::string_view name = "NET_CHAT_SV_VALIDATE_TOKEN_RESPONSE";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "Let the player in, or do not.";
    using Answers = MessageList<ValidateToken>;

    struct Accepted {
        LobbyId lobby;
        AccountId account;

        static constexpr void layout(auto& self, auto& wire) {
            wire("lobby_id", self.lobby);
            wire("account_id", self.account);
        }
        bool operator==(const Accepted&) const = default;
    };
    struct Refused {
        LobbyId lobby;
        AccountId account;
        ErrorText error;

        static constexpr void layout(auto& self, auto& wire) {
            wire("lobby_id", self.lobby);
            wire("account_id", self.account);
            wire("error", self.error);
        }
        bool operator==(const Refused&) const = default;
    };

    Either<Accepted, Refused> answer{};

    static constexpr void layout(auto& self, auto& wire) { wire("success", self.answer); }
    bool operator==(const ValidateTokenResponse&) const = default;
};

struct MatchStartedReport {
    static constexpr Code code = 0x100A;
    static constexpr std::string_view name = "NET_CHAT_SV_MATCH_STARTED";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "The match has begun; its token lets nobody in any more.";

    ServerId server{};
    LobbyId lobby{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("server_id", self.server);
        wire("lobby_id", self.lobby);
    }
    bool operator==(const MatchStartedReport&) const = default;
};

struct MatchEndedReport {
    static constexpr Code code = 0x100B;
    static constexpr std::string_view name = "NET_CHAT_SV_MATCH_ENDED";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "The match is over and its slot is free.";

    ServerId server{};
    LobbyId lobby{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("server_id", self.server);
        wire("lobby_id", self.lobby);
    }
    bool operator==(const MatchEndedReport&) const = default;
};

struct MatchResponse {
    static constexpr Code code = 0x100C;
    static constexpr std::string_view name = "NET_CHAT_SV_MATCH_RESPONSE";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "The report of a start or an end was taken, or why not.";
    using Answers = MessageList<MatchStartedReport, MatchEndedReport>;

    using Accepted = LobbyAccepted;
    using Refused = LobbyRefused;

    Either<Accepted, Refused> answer{};

    static constexpr void layout(auto& self, auto& wire) { wire("success", self.answer); }
    bool operator==(const MatchResponse&) const = default;
};

struct AbortMatch {
    static constexpr Code code = 0x100D;
    static constexpr std::string_view name = "NET_CHAT_SV_ABORT_MATCH";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "Drop this match: its slot is free.";

    LobbyId lobby{};
    ReasonText reason{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("lobby_id", self.lobby);
        wire("reason", self.reason);
    }
    bool operator==(const AbortMatch&) const = default;
};

struct SetDraining {
    static constexpr Code code = 0x100E;
    static constexpr std::string_view name = "NET_CHAT_SV_SET_DRAINING";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "The server takes no new match, or takes them again.";

    ServerId server{};
    bool draining = false;

    static constexpr void layout(auto& self, auto& wire) {
        wire("server_id", self.server);
        wire("draining", self.draining);
    }
    bool operator==(const SetDraining&) const = default;
};

struct ServerStatusNotice {
    static constexpr Code code = 0x100F;
    static constexpr std::string_view name = "NET_CHAT_SV_STATUS";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "The server's status. Also sent when an operator changes it.";
    using Answers = MessageList<SetDraining>;

    ServerId server{};
    ServerStatus status = ServerStatus::available;

    static constexpr void layout(auto& self, auto& wire) {
        wire("server_id", self.server);
        wire("status", self.status);
    }
    bool operator==(const ServerStatusNotice&) const = default;
};

struct ServerGoodbye {
    static constexpr Code code = 0x1010;
    static constexpr std::string_view name = "NET_CHAT_SV_GOODBYE";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about =
        "The server leaves on purpose: it is removed at once, and its matches are aborted.";

    ServerId server{};

    static constexpr void layout(auto& self, auto& wire) { wire("server_id", self.server); }
    bool operator==(const ServerGoodbye&) const = default;
};

struct ServerError {
    static constexpr Code code = 0x1011;
    static constexpr std::string_view name = "NET_CHAT_SV_ERROR";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about =
        "Refuses what has no answer of its own. The code is that of the refused message, 0 if it was not read.";

    Code refused_code = 0;
    ErrorText error{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("code", self.refused_code);
        wire("error", self.error);
    }
    bool operator==(const ServerError&) const = default;
};

struct ServerCrashed {
    static constexpr Code code = 0x1012;
    static constexpr std::string_view name = "NET_CHAT_SV_CRASHED";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about =
        "The server's process has crashed, says who speaks for it: it is removed at once, and its matches are aborted.";

    ServerId server{};

    static constexpr void layout(auto& self, auto& wire) { wire("server_id", self.server); }
    bool operator==(const ServerCrashed&) const = default;
};

// Every message of a game server's link, by ascending code.
using GameServerMessages =
    MessageList<ServerHandshake, ServerHandshakeResponse, ServerHeartbeat, ServerHeartbeatAck, AllocateMatch,
                AllocateMatchAck, ReadyForMatch, ReadyForMatchResponse, ValidateToken, ValidateTokenResponse,
                MatchStartedReport, MatchEndedReport, MatchResponse, AbortMatch, SetDraining, ServerStatusNotice,
                ServerGoodbye, ServerError, ServerCrashed>;

// Every message of the port: game servers', then hosts'.
using ServerPortMessages = JoinedMessages<GameServerMessages, HostMessages>;

}  // namespace muster
