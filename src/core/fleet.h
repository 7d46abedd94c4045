// The game servers we know of, and which of them can take a match.
//
// Game thread only. Liveness is judged on running time; one timer per server finds its silence, nothing sweeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/ip_range.h"
#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "core/brake.h"
#include "core/by_region.h"
#include "core/candidate_index.h"
#include "core/fleet_figures.h"
#include "core/id_blocks.h"
#include "core/ledger.h"
#include "core/owed_aborts.h"
#include "core/records.h"
#include "core/region.h"
#include "core/server.h"
#include "core/servers_by.h"
#include "core/visit_after.h"
#include "protocol/error_texts.h"
#include "protocol/server_messages.h"
#include "runtime/events.h"
#include "runtime/pass.h"
#include "runtime/timers.h"

namespace muster {

struct FleetConfig {
    Regions regions;
    std::vector<IpRange> addresses;  // what a server may claim; none: anything (S-6)
    Duration heartbeat_interval = std::chrono::seconds(10);
    Duration heartbeat_timeout = std::chrono::seconds(30);
    int reconcile_heartbeats = 3;
    BrakeConfig brake;
};

// What became of a server, for whoever keeps its matches and its link.
struct FleetFact {
    enum class Kind : std::uint8_t {
        registered,     // anew or again; it has been answered
        offline,        // it takes no offers: those in flight to it have failed, what it runs goes on (F-6)
        removed,        // it has left the registry: what it held has fallen through
        load_covered,   // its first report since a restart that counts all it is known to hold
        load_mismatch,  // it keeps reporting fewer matches than it is known to hold (F-7)
    };
    Kind kind = Kind::registered;
    ServerId server;
    Endpoint endpoint;
    // Of a removed one.
    ConnectionId link{};  // its connection, if it had one
    Reason reason = Reason::server_lost;
};

class Fleet {
public:
    struct Registration {
        ServerId server;
        bool resumed = false;
        ConnectionId replaced;  // a silent link that the newcomer took over from, to be closed
    };

    // A slot on a server, taken before the offer is sent.
    struct Reservation {
        ServerId server;
        std::int64_t epoch = 0;
        Choice choice;
    };

    // All of them outlive the fleet.
    struct Parts {
        Timers& timers;
        Events& events;
        Log& log;
        Ledger& ledger;
        IdBlocks& ids;
    };

    Fleet(FleetConfig config, const Parts& parts);

    // Takes effect from the next heartbeat on. The regions stay as they are.
    void configure(FleetConfig config);

    // The servers of the last run: Offline, with a full heartbeat timeout to return.
    void recover(const Pass& pass, std::span<const ServerRecord> servers, std::span<const AbortOwed> owed_aborts);

    // What happened since the last call, in order. Any call that takes a pass may add to it, and so may a timer.
    std::vector<FleetFact> take_facts() { return std::exchange(facts_, {}); }
    bool has_facts() const { return !facts_.empty(); }

    // Registers the server, or resumes it when the same endpoint comes back in time (F-1, F-6).
    // Fails with the text that the game server is told; a failure changes nothing. The token is judged before. `name`
    // is what its certificate proves: an endpoint that is registered under a name is that name's only (S-2).
    Result<Registration, Refusal> handshake(const Pass& pass, ConnectionId from, const ServerHandshake& hello,
                                            UnixMs wall, std::string_view name = {});

    // A sign of life with its load. A bad load report keeps the old figures but still counts as life (F-3, F-4).
    Result<void, Refusal> heartbeat(const Pass& pass, ConnectionId from, const ServerHeartbeat& beat, Time arrived,
                                    std::uint32_t rtt_us);

    // The connection is gone: Offline at once, kept for the rest of its timeout (F-6).
    void link_lost(const Pass& pass, ServerId id, ConnectionId link);
    // Muster does not read the link from now on, and reads it again: what it could not hear is no silence.
    void paused(const Pass& pass, ServerId id, ConnectionId link);
    void resumed(const Pass& pass, ServerId id, ConnectionId link);
    // Leaves on purpose, or is removed by its operator: at once, with its matches (F-12).
    void remove(const Pass& pass, ServerId id, Reason reason);

    // F-5. The status to be told; changes only what that side may change.
    ServerStatus drain_by_server(ServerId id, bool draining, UnixMs at = {});
    ServerStatus drain_by_operator(ServerId id, bool draining, const DrainNote& note = {});

    // Takes a slot on the best server of `region` not in `tried`; nothing when none can take a match.
    std::optional<Reservation> reserve(RegionId region, std::span<const ServerId> tried);
    // What became of a slot. A server that is gone has no slots: then nothing happens.
    void offer_over(ServerId id);
    void acknowledged(ServerId id);
    // After a restart: it says that it holds a match that it held before.
    void confirmed(ServerId id);
    void match_over(ServerId id);
    // The server says that a match has ended which it acknowledged after so many reports: a later one has counted it.
    void end_reported(ServerId id, std::uint32_t reports_before);
    // Restores a slot held in the last run. Null when the server is gone.
    const Server* restore_held(ServerId id);
    // The server speaks of its matches itself (F-7).
    void speaks_of_matches(ServerId id);
    void validates_tokens(ServerId id);
    // The endpoint's server is to drop the match: it is told when it comes (F-6), and when it is there, by the caller.
    void owe_abort(const Endpoint& endpoint, LobbyId lobby, bool told = false) {
        owed_aborts_.add(endpoint, lobby, told);
    }
    // It holds the match after all, or is asked to.
    void owe_abort_no_more(const Endpoint& endpoint, LobbyId lobby) { owed_aborts_.settle(endpoint, lobby); }
    std::vector<LobbyId> tell_owed_aborts(const Endpoint& endpoint) { return owed_aborts_.tell(endpoint); }
    // Once a minute.
    void settle_heard_aborts();
    const OwedAborts& owed_aborts() const { return owed_aborts_; }

    // Null when there is none.
    const Server* find(ServerId id) const { return mutable_find(id); }
    const Server* find(const Endpoint& endpoint) const;
    // Null unless `from` is that server's present connection (F-3, fault 46).
    const Server* held_by(ConnectionId from, ServerId id) const {
        const Server* server = find(id);
        return server && server->link == from ? server : nullptr;
    }
    bool region_known(RegionId region) const { return indexes_.contains(region); }
    const FleetConfig& config() const { return config_; }
    std::size_t size() const { return servers_.size(); }
    const FleetFigures& figures() const { return figures_; }
    const CandidateIndex& candidates(RegionId region) const { return indexes_.at(region); }

    // By ascending id.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const auto& [id, server] : servers_) visit(server);
    }
    // Those that come after `last`, at most `left`, which tells how many are still left. False when there are more.
    template <class Visit>
    bool visit_after(ServerId last, std::size_t& left, Visit visit) const {
        return muster::visit_after(servers_, last, left, visit);
    }

private:
    Server* mutable_find(ServerId id) const;
    Result<Endpoint, Refusal> judged(const ServerHandshake& hello) const;
    bool link_is_live(const Server& server, const Pass& pass) const;
    Result<Registration, Refusal> enroll(const Pass& pass, ConnectionId from, const Endpoint& endpoint,
                                         const ServerHandshake& hello, UnixMs wall, std::string_view name);
    void resume(const Pass& pass, ConnectionId from, Server& server, std::int32_t max_matches, std::int64_t epoch);
    void start_silence_timer(Server& server, Duration delay);
    void silence_due(const Pass& pass, ServerId id);
    void look_for_silence_again(Server& server);
    void became_silent(const Pass& pass, Server& server);
    void pull_brake(RegionId region);
    void brake_one(Server& server);
    void let_go(Server& server);
    Time removal_time(const Server& server) const;
    void sign_of_life(const Pass& pass, Server& server);
    void went_offline(Server& server, std::string_view reason);
    void timed_out(const Pass& pass, Server& server);
    void reconcile(Server& server);
    void note(FleetFact::Kind kind, const Server& server);
    void refresh(Server& server);
    void save(const Server& server);
    Duration silence_after() const { return config_.heartbeat_interval * 3 / 2; }

    FleetConfig config_;
    Timers& timers_;
    Events& events_;
    Log& log_;
    Ledger& ledger_;
    IdBlocks& ids_;

    std::map<ServerId, Server> servers_;  // in the order that lists show them
    ServersBy<ServerId, &Server::id> by_id_;
    ServersBy<Endpoint, &Server::endpoint> by_endpoint_;
    mutable Server* last_found_ = nullptr;
    ByRegion<CandidateIndex> indexes_;
    std::map<RegionId, Brake> brakes_;
    OwedAborts owed_aborts_;
    std::vector<FleetFact> facts_;
    FleetFigures figures_;
};

}  // namespace muster
