// What happens in the fleet and its matches, as typed events. Logs, metrics, the audit history, the live feed and other
// parts of core are all made from this one stream (B-3).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/ids.h"
#include "base/time.h"

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

    void describe(FieldSink& out) const {
        out.integer("server_id", server.value);
        out.integer("region", region.value);
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

    void describe(FieldSink& out) const {
        out.integer("server_id", server.value);
        out.flag("draining", draining);
        out.text("by", by_operator ? "operator" : "server");
    }
};

struct MatchOffered {
    static constexpr std::string_view name = "match.offered";
    LobbyId lobby;
    RegionId region;
    ServerId server;
    int attempt = 1;  // 1 is the first offer; each further one is a retry

    void describe(FieldSink& out) const {
        out.integer("lobby_id", lobby.value);
        out.integer("region", region.value);
        out.integer("server_id", server.value);
        out.integer("attempt", attempt);
    }
};

// Durable, and the chat server is being answered.
struct MatchAllocated {
    static constexpr std::string_view name = "match.allocated";
    LobbyId lobby;
    RegionId region;
    ServerId server;
    std::string chat_server;
    Duration took{0};

    void describe(FieldSink& out) const {
        out.integer("lobby_id", lobby.value);
        out.integer("region", region.value);
        out.integer("server_id", server.value);
        out.text("chat_server", chat_server);
        out.real("seconds", to_seconds(took));
    }
};

// The request came to nothing: no server holds the lobby, and it may be asked for again.
struct MatchRefused {
    static constexpr std::string_view name = "match.refused";
    LobbyId lobby;
    RegionId region;
    std::string_view reason;  // the text that the chat server is told
    std::string_view label;   // the same for a metric
    Duration took{0};

    void describe(FieldSink& out) const {
        out.integer("lobby_id", lobby.value);
        out.integer("region", region.value);
        out.text("reason", reason);
        out.real("seconds", to_seconds(took));
    }
};

// Carries what the lobby's players are told. The token is for them alone and is never described.
struct MatchReady {
    static constexpr std::string_view name = "match.ready";
    LobbyId lobby;
    ServerId server;
    std::string ip;
    std::int32_t port = 0;
    std::string token;

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

// Much of a region fell silent at once: nobody is removed for it yet (fault 29).
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

// Somebody used the admin API or the tool.
struct OperatorAction {
    static constexpr std::string_view name = "operator.action";
    std::string who;
    std::string action;
    std::string target;

    void describe(FieldSink& out) const {
        out.text("who", who);
        out.text("action", action);
        out.text("target", target);
    }
};

}  // namespace muster::event
