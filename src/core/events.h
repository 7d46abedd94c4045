// What happens in the fleet, its matches and among the players, as typed events. Logs, metrics, the audit history, the
// live feed and other parts of core are all made from this one stream.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/candidate_index.h"

namespace muster::event {

struct ServerRegistered {
    static constexpr std::string_view name = "server.registered";
    ServerId server;
    RegionId region;
    std::string endpoint;
    std::int32_t max_matches = 0;
    std::int64_t epoch = 0;

    void describe(FieldSink& out) const {
        out.integer("server_id", server.value);
        out.integer("region", region.value);
        out.text("endpoint", endpoint);
        out.integer("max_matches", max_matches);
        out.integer("epoch", epoch);
    }
};

// The same server, id and matches, on a new connection.
struct ServerResumed {
    static constexpr std::string_view name = "server.resumed";
    ServerId server;
    RegionId region;
    std::int64_t epoch = 0;

    void describe(FieldSink& out) const {
        out.integer("server_id", server.value);
        out.integer("region", region.value);
        out.integer("epoch", epoch);
    }
};

// It takes no matches now; it may come back.
struct ServerOffline {
    static constexpr std::string_view name = "server.offline";
    ServerId server;
    RegionId region;
    std::string_view reason;

    void describe(FieldSink& out) const {
        out.integer("server_id", server.value);
        out.integer("region", region.value);
        out.text("reason", reason);
    }
};

struct ServerRemoved {
    static constexpr std::string_view name = "server.removed";
    ServerId server;
    RegionId region;
    std::string_view reason;
    bool timed_out = false;
    Duration silence{0};
    Duration uptime{0};
    std::string endpoint{};

    void describe(FieldSink& out) const {
        out.integer("server_id", server.value);
        out.integer("region", region.value);
        out.text("endpoint", endpoint);
        out.text("reason", reason);
        out.real("silence_seconds", to_seconds(silence));
        out.real("uptime_seconds", to_seconds(uptime));
    }
};

struct ServerDraining {
    static constexpr std::string_view name = "server.draining";
    ServerId server;
    bool draining = false;
    bool by_operator = false;
    std::string who;     // of an operator's: the address
    std::string reason;  // empty: none was given

    void describe(FieldSink& out) const {
        out.integer("server_id", server.value);
        out.flag("draining", draining);
        out.text("by", by_operator ? "operator" : "server");
        if (!who.empty()) out.text("who", who);
        if (!reason.empty()) out.text("reason", reason);
    }
};

// A registration was refused. Of many from one address the first in a minute is told, and how many there were.
struct ServerRefused {
    static constexpr std::string_view name = "server.refused";
    std::string endpoint;  // as it was sent
    RegionId region;
    std::string peer;
    std::string_view reason;
    std::uint64_t count = 1;  // of this address and reason, since it was last told

    void describe(FieldSink& out) const {
        out.text("endpoint", endpoint);
        out.integer("region", region.value);
        out.text("peer", peer);
        out.text("reason", reason);
        out.integer("count", static_cast<std::int64_t>(count));
    }
};

// The same of a matchmaker.
struct MatchmakerRefused {
    static constexpr std::string_view name = "matchmaker.refused";
    std::string matchmaker;  // as it was sent
    std::string peer;
    std::string_view reason;
    std::uint64_t count = 1;

    void describe(FieldSink& out) const {
        out.text("matchmaker", matchmaker);
        out.text("peer", peer);
        out.text("reason", reason);
        out.integer("count", static_cast<std::int64_t>(count));
    }
};

// A matchmaker asked over HTTP. What the matchmakers' port asks for is told by what comes of it.
struct MatchRequested {
    static constexpr std::string_view name = "match.requested";
    LobbyId lobby;
    RegionId region;
    std::string matchmaker;
    std::string who;  // the address
    std::string request_id;
    std::string operator_name{};  // empty: whoever is on this machine, without a token

    void describe(FieldSink& out) const {
        out.integer("lobby_id", lobby.value);
        out.integer("region", region.value);
        out.text("matchmaker", matchmaker);
        if (!operator_name.empty()) out.text("operator", operator_name);
        out.text("who", who);
        out.text("request_id", request_id);
    }
};

struct MatchOffered {
    static constexpr std::string_view name = "match.offered";
    LobbyId lobby;
    RegionId region;
    ServerId server;
    int attempt = 1;  // 1 is the first offer; each further one is a retry
    std::string request_id{};
    Choice choice{};  // why this server

    void describe(FieldSink& out) const {
        out.integer("lobby_id", lobby.value);
        out.integer("region", region.value);
        out.integer("server_id", server.value);
        out.integer("attempt", attempt);
        out.text("request_id", request_id);
        if (choice.best.empty()) return;
        out.integer("candidates", static_cast<std::int64_t>(choice.candidates));
        out.real("score", shown_score(choice.best.front()));
        out.integer("load", choice.best.front().load);
        if (choice.best.size() == 1) return;
        // Not "server_id": these are not among the events of those servers.
        out.begin_list("next_best");
        for (std::size_t i = 1; i < choice.best.size(); ++i) {
            out.begin_object({});
            out.integer("id", choice.best[i].server.value);
            out.real("score", shown_score(choice.best[i]));
            out.integer("load", choice.best[i].load);
            out.end_object();
        }
        out.end_list();
    }

private:
    static double shown_score(const Candidate& candidate) { return std::round(candidate.score * 100) / 100; }
};

// An offer came to nothing; the next best server is asked, or the request fails.
struct MatchDeclined {
    static constexpr std::string_view name = "match.declined";
    LobbyId lobby;
    ServerId server;
    std::string_view reason;

    void describe(FieldSink& out) const {
        out.integer("lobby_id", lobby.value);
        out.integer("server_id", server.value);
        out.text("reason", reason);
    }
};

// Durable, and the matchmaker is being answered.
struct MatchAllocated {
    static constexpr std::string_view name = "match.allocated";
    LobbyId lobby;
    RegionId region;
    ServerId server;
    std::string matchmaker;
    Duration took{0};
    std::string request_id{};

    void describe(FieldSink& out) const {
        out.integer("lobby_id", lobby.value);
        out.integer("region", region.value);
        out.integer("server_id", server.value);
        out.text("matchmaker", matchmaker);
        out.real("seconds", to_seconds(took));
        out.text("request_id", request_id);
    }
};

// The request came to nothing: no server holds the lobby, and it may be asked for again.
struct MatchRefused {
    static constexpr std::string_view name = "match.refused";
    LobbyId lobby;
    RegionId region;
    std::string_view reason;  // the text that the matchmaker is told
    std::string_view label;   // the same for a metric
    Duration took{0};
    std::string request_id{};

    void describe(FieldSink& out) const {
        out.integer("lobby_id", lobby.value);
        out.integer("region", region.value);
        out.text("reason", reason);
        out.real("seconds", to_seconds(took));
        out.text("request_id", request_id);
    }
};

struct MatchReady {
    static constexpr std::string_view name = "match.ready";
    LobbyId lobby;
    ServerId server;

    void describe(FieldSink& out) const {
        out.integer("lobby_id", lobby.value);
        out.integer("server_id", server.value);
    }
};

struct MatchStarted {
    static constexpr std::string_view name = "match.started";
    LobbyId lobby;
    ServerId server;

    void describe(FieldSink& out) const {
        out.integer("lobby_id", lobby.value);
        out.integer("server_id", server.value);
    }
};

struct MatchEnded {
    static constexpr std::string_view name = "match.ended";
    LobbyId lobby;
    ServerId server;
    std::string reason;  // empty when the server said so itself

    void describe(FieldSink& out) const {
        out.integer("lobby_id", lobby.value);
        out.integer("server_id", server.value);
        out.text("reason", reason);
    }
};

struct MatchAborted {
    static constexpr std::string_view name = "match.aborted";
    LobbyId lobby;
    ServerId server;
    std::string reason;

    void describe(FieldSink& out) const {
        out.integer("lobby_id", lobby.value);
        out.integer("server_id", server.value);
        out.text("reason", reason);
    }
};

// Ten wrong tokens were tried for a lobby within a minute. The right one still lets in.
struct MatchWrongTokens {
    static constexpr std::string_view name = "match.wrong_tokens";
    LobbyId lobby;
    ServerId server;
    int count = 0;

    void describe(FieldSink& out) const {
        out.integer("lobby_id", lobby.value);
        out.integer("server_id", server.value);
        out.integer("count", count);
    }
};

struct PlayerLogin {
    static constexpr std::string_view name = "player.login";
    AccountId player;
    std::string player_name;
    std::uint64_t entity = 0;

    void describe(FieldSink& out) const {
        out.integer("player_id", player.value);
        out.text("name", player_name);
        out.integer("entity", static_cast<std::int64_t>(entity));
    }
};

// The same session on a new connection.
struct PlayerResumed {
    static constexpr std::string_view name = "player.resumed";
    AccountId player;
    std::string player_name;

    void describe(FieldSink& out) const {
        out.integer("player_id", player.value);
        out.text("name", player_name);
    }
};

struct PlayerIdle {
    static constexpr std::string_view name = "player.idle";
    AccountId player;

    void describe(FieldSink& out) const { out.integer("player_id", player.value); }
};

struct PlayerActive {
    static constexpr std::string_view name = "player.active";
    AccountId player;

    void describe(FieldSink& out) const { out.integer("player_id", player.value); }
};

// The session has ended. `reason` is what the player was told, if anything was.
struct PlayerClosed {
    static constexpr std::string_view name = "player.closed";
    AccountId player;
    std::string player_name;
    std::string reason;
    Duration length{0};

    void describe(FieldSink& out) const {
        out.integer("player_id", player.value);
        out.text("name", player_name);
        out.text("reason", reason);
        out.real("session_seconds", to_seconds(length));
    }
};

struct EntityDeleted {
    static constexpr std::string_view name = "entity.deleted";
    std::uint64_t entity = 0;
    AccountId player;
    std::string reason;

    void describe(FieldSink& out) const {
        out.integer("entity", static_cast<std::int64_t>(entity));
        out.integer("player_id", player.value);
        out.text("reason", reason);
    }
};

// An operator set the world clock.
struct ClockJump {
    static constexpr std::string_view name = "clock.jump";
    int day = 1;
    int hour = 0;
    int minute = 0;
    int speed = 1;

    void describe(FieldSink& out) const {
        out.integer("day", day);
        out.integer("hour", hour);
        out.integer("minute", minute);
        out.integer("speed", speed);
    }
};

// The eviction brake engaged: many servers of a region fell silent at once, and removals are suspended.
struct BrakeOn {
    static constexpr std::string_view name = "brake.on";
    RegionId region;
    std::int64_t silent = 0;
    std::int64_t servers = 0;

    void describe(FieldSink& out) const {
        out.integer("region", region.value);
        out.integer("silent", silent);
        out.integer("servers", servers);
    }
};

struct BrakeOff {
    static constexpr std::string_view name = "brake.off";
    RegionId region;

    void describe(FieldSink& out) const { out.integer("region", region.value); }
};

// Somebody used the admin API or the tool. Of the ids, the one of the target is set, if it has any: so the action is
// among the events of that server, lobby, player or region.
// A block has ended by itself.
struct BlockExpired {
    static constexpr std::string_view name = "block.expired";
    std::string kind;
    std::string value;

    void describe(FieldSink& out) const {
        out.text("kind", kind);
        out.text("value", value);
    }
};

struct OperatorAction {
    static constexpr std::string_view name = "operator.action";
    std::string operator_name;  // empty: whoever is on this machine, without a token
    std::string who;            // the address
    std::string action;
    std::string target;
    std::string reason{};  // empty: none was given
    std::string request_id{};
    ServerId server{};
    LobbyId lobby{};
    AccountId player{};
    RegionId region{-1};
    double seconds = 0;  // how long it holds; 0: until it is taken back, or not at all

    void describe(FieldSink& out) const {
        if (!operator_name.empty()) out.text("operator", operator_name);
        out.text("who", who);
        out.text("action", action);
        out.text("target", target);
        if (!reason.empty()) out.text("reason", reason);
        out.text("request_id", request_id);
        if (server.value != 0) out.integer("server_id", server.value);
        if (lobby.value != 0) out.integer("lobby_id", lobby.value);
        if (player.value != 0) out.integer("player_id", player.value);
        if (region.value >= 0) out.integer("region", region.value);
        if (seconds > 0) out.real("for_seconds", seconds);
    }
};

}  // namespace muster::event
