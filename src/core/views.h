// What there is, row by row, for people to look at: plain values, no link back to core, no secret in them.
//
// The game thread makes a view (view_walk.h) and hands it over whole; whoever shows it does so on a thread of its own.
// A match's token is in no row.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/time.h"
#include "core/records.h"
#include "protocol/port.h"
#include "protocol/process_state.h"
#include "protocol/server_status.h"

namespace muster {

struct ServerRow {
    ServerId id;
    IpAddress ip;
    std::uint16_t port = 0;
    RegionId region;
    ServerStatus status = ServerStatus::offline;
    bool connected = false;
    bool drained_by_server = false;
    bool drained_by_operator = false;
    DrainNote drain{};  // while it is drained
    bool braked = false;
    std::int32_t load = 0;  // F-7
    std::int32_t reported_matches = 0;
    std::int32_t held = 0;     // acknowledged and unfinished
    std::int32_t offered = 0;  // offers in flight
    std::int32_t max_matches = 0;
    float cpu_percent = 0;
    float memory_percent = 0;
    float jitter_ms = 0;
    std::uint32_t rtt_us = 0;
    std::int64_t epoch = 0;
    std::int64_t last_heartbeat_ms_ago = 0;
    std::uint64_t choices = 0;
    UnixMs registered_at;
};

// A match that is not over, or one that was over lately.
struct MatchRow {
    LobbyId lobby;
    ServerId server;  // 0 while none was chosen
    RegionId region;
    MatchState state = MatchState::offering;
    std::int8_t game_type = 0;
    std::int8_t game_mode = 0;
    std::int8_t player_count = 0;
    std::int32_t average_rating = 0;
    std::int32_t tokens_used = 0;
    std::string matchmaker;
    std::string reason;
    UnixMs requested_at;
    UnixMs allocated_at;  // 0 until it happened; so are the next three
    UnixMs ready_at;
    UnixMs started_at;
    UnixMs ended_at;
};

struct MatchmakerRow {
    std::string id;
    std::vector<RegionId> regions;
    std::int64_t last_seen_ms_ago = 0;
};

// A session (P-8).
struct PlayerRow {
    AccountId id;
    std::string name;
    bool connected = false;
    bool idle = false;
    std::uint32_t latency_us = 0;
    std::uint32_t jitter_us = 0;
    UnixMs connected_at;
    std::int64_t last_message_ms_ago = 0;
    std::optional<std::int64_t> last_ping_sent_ms_ago;  // none before the first
    std::int64_t last_ping_received_ms_ago = 0;
    std::uint64_t entity = 0;  // 0: none
    int failed_heartbeats = 0;
};

// What a region has counted since the start; what it holds now is in the rows of its servers.
struct RegionRow {
    RegionId id;
    std::string name;
    std::uint64_t requests = 0;
    std::uint64_t retries = 0;
    std::uint64_t successes = 0;
    std::uint64_t timeouts = 0;                     // servers that fell silent
    std::uint64_t lost = 0;                         // of them, those of the last 15 minutes that did not come back
    std::map<std::string, std::uint64_t> failures;  // by the refusal's label
};

// How many values fell up to each bound and above the one before; the last count is of those above all bounds.
struct Distribution {
    std::vector<double> bounds;
    std::vector<std::uint64_t> counts;
};

// Registrations that were refused in the last one to two minutes.
struct RefusedRow {
    Port port = Port::servers;
    std::uint64_t count = 0;
    std::string reason;  // of most of them
    std::string last;    // the address that was refused last
};

struct ClockRow {
    int day = 1;
    int hour = 0;
    int minute = 0;
    int speed = 1;
};

// A process of a host, as its agent told it.
struct ProcessRow {
    std::string name;
    std::string run;
    ProcessState state = ProcessState::starting;
    std::int32_t pid = 0;  // 0: it does not run; so have the next two no value
    std::int32_t port = 0;
    ServerId server;
    UnixMs started_at;
    std::int32_t restarts = 0;
    UnixMs exit_at;                         // 0: it has never ended
    std::optional<std::int32_t> exit_code;  // none: a signal, or nobody knows
    std::optional<std::int32_t> exit_signal;
    std::string exit_reason;
    std::string last_lines;  // of the life that ended last
};

struct HostRow {
    std::string name;
    std::string address;
    RegionId region;
    bool connected = false;
    bool draining = false;
    std::string version;
    float cpu_percent = 0;
    float memory_percent = 0;
    UnixMs joined_at;
    UnixMs lost_at;                     // 0 while it is connected, or awaited after a restart of Muster
    std::vector<ProcessRow> processes;  // by ascending name
};

// Every host, by ascending name.
struct HostsView {
    std::vector<HostRow> hosts;
};

// What of the hosts is worth a word.
struct HostTroubles {
    struct Lost {
        std::string name;
        std::size_t servers = 0;  // that its processes were
        std::size_t matches = 0;  // on them, now
    };
    std::vector<Lost> lost;
    std::size_t crash_loops = 0;     // processes of connected hosts
    std::string crash_loop_example;  // HOST/PROCESS
};

// Everything but the players' rows and those of the hosts.
struct FleetView {
    UnixMs time;
    std::vector<ServerRow> servers;  // by ascending id
    std::vector<MatchRow> matches;   // by ascending lobby; those that are not over
    std::vector<MatchmakerRow> matchmakers;
    std::vector<RegionRow> regions;                 // by ascending id
    std::map<std::string, std::uint64_t> failures;  // of all regions, and of requests that named none of ours
    Distribution allocation_seconds;                // of all regions
    std::uint64_t allocations_in_flight = 0;
    std::uint64_t players_connected = 0;
    std::uint64_t players_in_grace = 0;
    std::uint64_t players_idle = 0;
    Distribution player_rtt_seconds;  // of all echoes since the start
    std::uint64_t aborts = 0;         // of the last 15 minutes, for a server that was lost or lost them
    std::string abort_reason;         // of most of them
    bool had_servers = false;         // a game server has registered in this run, or may have in an earlier one
    std::vector<RefusedRow> refused;  // one for each port that refuses
    ClockRow clock;
    HostTroubles hosts;
    bool store_up = true;
};

// Every session, by ascending id.
struct PlayersView {
    std::vector<PlayerRow> players;
};

// A match's record as a row.
MatchRow match_row_of(const MatchRecord& record, std::int32_t tokens_used);

}  // namespace muster
