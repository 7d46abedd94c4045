// The matchmaker port: what matchmakers and Muster say to each other.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "protocol/answer_forms.h"
#include "protocol/field_types.h"
#include "protocol/game_endpoint.h"
#include "protocol/message.h"
#include "protocol/port.h"
#include "protocol/text.h"

namespace muster {

enum class MatchEventKind : std::int8_t { ready = 1, started = 2, ended = 3, aborted = 4 };

template <>
struct EnumRange<MatchEventKind> {
    static constexpr auto first = MatchEventKind::ready;
    static constexpr auto last = MatchEventKind::aborted;
};

constexpr std::string_view to_string(MatchEventKind kind) {
    switch (kind) {
        case MatchEventKind::ready:
            return "ready";
        case MatchEventKind::started:
            return "started";
        case MatchEventKind::ended:
            return "ended";
        case MatchEventKind::aborted:
            return "aborted";
    }
    return "";
}

struct MatchmakerHandshake {
    static constexpr Code code = 0x2000;
    static constexpr std::string_view name = "NET_CHAT_MGR_HANDSHAKE";
    static constexpr Port port = Port::matchmakers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "Registers the matchmaker for the regions that it names.";

    HandshakeTokenText token{};
    MatchmakerIdText matchmaker{};
    List<std::int8_t, RegionId> regions{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("token", self.token);
        wire("chat_server_id", self.matchmaker);
        wire("regions", self.regions);
    }
    bool operator==(const MatchmakerHandshake&) const = default;
};

// A row of MatchmakerHandshakeResponse.
struct AvailableServer {
    ServerId server{};
    GameEndpoint endpoint{};
    RegionId region{};
    std::int32_t max_matches = 0;

    static constexpr void layout(auto& self, auto& wire) {
        wire("id", self.server);
        GameEndpoint::layout(self.endpoint, wire);
        wire("region", self.region);
        wire("max_matches", self.max_matches);
    }
    bool operator==(const AvailableServer&) const = default;
};

struct MatchmakerHandshakeResponse {
    static constexpr Code code = 0x2001;
    static constexpr std::string_view name = "NET_CHAT_MGR_HANDSHAKE_RESPONSE";
    static constexpr Port port = Port::matchmakers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about =
        "The time, and the Available servers of those regions by ascending id, as many as fit one frame.";
    using Answers = MessageList<MatchmakerHandshake>;

    struct Accepted {
        UnixMs time;
        List<std::int32_t, AvailableServer> servers;

        static constexpr void layout(auto& self, auto& wire) {
            wire("time_ms", self.time);
            wire("servers", self.servers);
        }
        bool operator==(const Accepted&) const = default;
    };
    using Refused = muster::Refused;

    Either<Accepted, Refused> answer{};

    static constexpr void layout(auto& self, auto& wire) { wire("success", self.answer); }
    bool operator==(const MatchmakerHandshakeResponse&) const = default;
};

struct AllocationRequest {
    static constexpr Code code = 0x2002;
    static constexpr std::string_view name = "NET_CHAT_MGR_SERVER_ALLOCATION_REQUEST";
    static constexpr Port port = Port::matchmakers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about =
        "Asks for a server for a match. Asking again for a lobby joins its allocation.";

    LobbyId lobby{};
    std::int8_t game_type = 0;
    std::int8_t game_mode = 0;
    RegionId region{};
    std::int8_t player_count = 0;
    std::int32_t average_rating = 0;

    static constexpr void layout(auto& self, auto& wire) {
        wire("lobby_id", self.lobby);
        wire("game_type", self.game_type);
        wire("game_mode", self.game_mode);
        wire("region", self.region);
        wire("player_count", self.player_count);
        wire("average_rating", self.average_rating);
    }
    bool operator==(const AllocationRequest&) const = default;
};

struct AllocationResponse {
    static constexpr Code code = 0x2003;
    static constexpr std::string_view name = "NET_CHAT_MGR_SERVER_ALLOCATION_RESPONSE";
    static constexpr Port port = Port::matchmakers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about =
        "The server that took the match, where it is, the token that lets players in, and when it was given.";
    using Answers = MessageList<AllocationRequest>;

    struct Accepted {
        LobbyId lobby;
        ServerId server;
        GameEndpoint endpoint;
        MatchTokenText token;
        UnixMs time;

        static constexpr void layout(auto& self, auto& wire) {
            wire("lobby_id", self.lobby);
            wire("server_id", self.server);
            GameEndpoint::layout(self.endpoint, wire);
            wire("token", self.token);
            wire("time_ms", self.time);
        }
        bool operator==(const Accepted&) const = default;
    };
    using Refused = LobbyRefused;

    Either<Accepted, Refused> answer{};

    static constexpr void layout(auto& self, auto& wire) { wire("success", self.answer); }
    bool operator==(const AllocationResponse&) const = default;
};

struct MatchmakerHeartbeat {
    static constexpr Code code = 0x2004;
    static constexpr std::string_view name = "NET_CHAT_MGR_HEARTBEAT";
    static constexpr Port port = Port::matchmakers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "A sign of life, every thirty seconds.";

    static constexpr void layout(auto&, auto&) {}
    bool operator==(const MatchmakerHeartbeat&) const = default;
};

struct MatchmakerHeartbeatAck {
    static constexpr Code code = 0x2005;
    static constexpr std::string_view name = "NET_CHAT_MGR_HEARTBEAT_ACK";
    static constexpr Port port = Port::matchmakers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "The time.";
    using Answers = MessageList<MatchmakerHeartbeat>;

    FlagSet success{};
    UnixMs time{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("success", self.success);
        wire("time_ms", self.time);
    }
    bool operator==(const MatchmakerHeartbeatAck&) const = default;
};

struct MatchEventNotice {
    static constexpr Code code = 0x2006;
    static constexpr std::string_view name = "NET_CHAT_MGR_MATCH_EVENT";
    static constexpr Port port = Port::matchmakers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "What became of a match.";

    LobbyId lobby{};
    MatchEventKind event = MatchEventKind::ready;
    ReasonText reason{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("lobby_id", self.lobby);
        wire("event", self.event);
        wire("reason", self.reason);
    }
    bool operator==(const MatchEventNotice&) const = default;
};

struct CancelMatch {
    static constexpr Code code = 0x2007;
    static constexpr std::string_view name = "NET_CHAT_MGR_CANCEL";
    static constexpr Port port = Port::matchmakers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about =
        "Withdraws the lobby's request or match. Always answered by event 4; a pending request is first refused with "
        "\"Allocation cancelled\".";

    LobbyId lobby{};

    static constexpr void layout(auto& self, auto& wire) { wire("lobby_id", self.lobby); }
    bool operator==(const CancelMatch&) const = default;
};

struct MatchPlayers {
    static constexpr Code code = 0x2008;
    static constexpr std::string_view name = "NET_CHAT_MGR_MATCH_PLAYERS";
    static constexpr Port port = Port::matchmakers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about =
        "The accounts of a lobby, before or after its request; a later list replaces it. Once given, only these "
        "accounts validate.";

    LobbyId lobby{};
    List<std::int8_t, AccountId> accounts{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("lobby_id", self.lobby);
        wire("account_ids", self.accounts);
    }
    bool operator==(const MatchPlayers&) const = default;
};

struct MatchPlayersResponse {
    static constexpr Code code = 0x2009;
    static constexpr std::string_view name = "NET_CHAT_MGR_MATCH_PLAYERS_RESPONSE";
    static constexpr Port port = Port::matchmakers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "The list was taken, or why not.";
    using Answers = MessageList<MatchPlayers>;

    using Accepted = LobbyAccepted;
    using Refused = LobbyRefused;

    Either<Accepted, Refused> answer{};

    static constexpr void layout(auto& self, auto& wire) { wire("success", self.answer); }
    bool operator==(const MatchPlayersResponse&) const = default;
};

struct MatchmakerError {
    static constexpr Code code = 0x200A;
    static constexpr std::string_view name = "NET_CHAT_MGR_ERROR";
    static constexpr Port port = Port::matchmakers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about =
        "Refuses what has no answer of its own. The code is that of the refused message, 0 if it was not read.";

    Code refused_code = 0;
    ErrorText error{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("code", self.refused_code);
        wire("error", self.error);
    }
    bool operator==(const MatchmakerError&) const = default;
};

// Every message of the port, by ascending code.
using MatchmakerPortMessages =
    MessageList<MatchmakerHandshake, MatchmakerHandshakeResponse, AllocationRequest, AllocationResponse,
                MatchmakerHeartbeat, MatchmakerHeartbeatAck, MatchEventNotice, CancelMatch, MatchPlayers,
                MatchPlayersResponse, MatchmakerError>;

}  // namespace muster
