// Who is connected as whom, from the wire alone: the ground that the judges stand on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/events.h"
#include "protocol/messages.h"
#include "sim/id_map.h"
#include "sim/judge.h"

namespace muster::sim {

struct KnownLink {
    Port port = Port::servers;
    bool greeted = false;
    bool closing = false;  // core has said its last word
    ServerId server;       // once greeted
    std::string matchmaker;
    ServerHandshake server_hello;
    MatchmakerHandshake matchmaker_hello;
};

// A registered game server, as the frames that core heard and sent tell it.
struct KnownServer {
    ServerId id;
    GameEndpoint endpoint;
    RegionId region;
    std::int32_t max_matches = 0;
    LinkNumber link = 0;  // 0: not connected
    Time last_beat;       // or handshake, or the run's beginning; running time
    Time silent_since;    // when its link was lost, or its heartbeat will be overdue by half an interval
    std::int32_t reported = 0;
    std::uint64_t report = 0;      // the number of its last report among those of all servers
    std::int32_t ended_since = 0;  // of those reported, by its own word
    float cpu = 0;
    float memory = 0;
    bool drained_by_server = false;
    bool drained_by_operator = false;
    std::int64_t epoch = 0;
    bool speaks_of_matches = false;  // sent STARTED or ENDED in this run
    int low_reports = 0;             // F-7, in a row

    // What its last report still stands for (F-7).
    std::int32_t busy() const { return reported - ended_since; }
};

class Registry final : public Judge {
public:
    explicit Registry(Objections& objections) : objections_(objections) {}

    using Judge::happened;
    using Judge::heard;
    using Judge::said;

    void opened(const Scene& scene, LinkNumber link, Port port);
    void closed(const Scene& scene, LinkNumber number);
    void close_asked(const Scene& scene, LinkNumber number);
    void heard(const Scene& scene, LinkNumber link, const ServerHandshake& hello);
    void heard(const Scene& scene, LinkNumber link, const MatchmakerHandshake& hello);
    void heard(const Scene& scene, LinkNumber link, const ServerHeartbeat& beat);
    void heard(const Scene& scene, LinkNumber link, const SetDraining& wish);
    void heard(const Scene& scene, LinkNumber link, const MatchStartedReport& report);
    void heard(const Scene& scene, LinkNumber link, const MatchEndedReport& report);
    void said(const Scene& scene, LinkNumber number, const ServerHandshakeResponse& response);
    void said(const Scene& scene, LinkNumber number, const MatchmakerHandshakeResponse& response);
    void happened(const Scene& scene, const event::ServerRegistered& event);
    void happened(const Scene& scene, const event::ServerResumed& event);
    void happened(const Scene& scene, const event::ServerRemoved& event);
    void drained(const Scene& scene, const OperatorDrain& wish);
    void run_began(const Scene& scene, const Core& core);
    void durable(Time now, const RecordBatch& batch);

    // Null for a link that core does not have now.
    const KnownLink* link(LinkNumber number) const;
    // Null when it is not registered.
    const KnownServer* server(ServerId id) const;
    KnownServer* server(ServerId id);
    // The server that the link speaks for now, by its present registration.
    const KnownServer* speaker(LinkNumber number) const;
    // The link of a matchmaker that can be told something now; 0 when it is away.
    LinkNumber matchmaker_link(const std::string& matchmaker) const;
    const IdMap<ServerId, KnownServer>& servers() const { return servers_; }
    // The server that was removed last, as it was then.
    const KnownServer& last_removed() const { return last_removed_; }
    // Servers whose state may have changed since the last pass ended; it may name one twice.
    const std::vector<ServerId>& touched() const { return touched_; }
    void touch(ServerId id) {
        if (touched_.empty() || touched_.back() != id) touched_.push_back(id);
    }
    void clear_touched() { touched_.clear(); }

    // Load reports so far, of all servers: what came first.
    std::uint64_t reports() const { return reports_; }
    // Registrations so far, resumed ones too.
    std::uint64_t registrations() const { return registrations_; }

private:
    void detach(const Scene& scene, LinkNumber number, const KnownLink& link);

    Objections& objections_;
    IdMap<LinkNumber, KnownLink> links_;
    IdMap<ServerId, KnownServer> servers_;
    std::map<std::string, LinkNumber> matchmaker_links_;
    KnownServer last_removed_;
    std::vector<ServerId> touched_;
    // Across runs: an id is never another endpoint's, an epoch only grows (invariant 13).
    std::map<ServerId, std::string> endpoints_;
    IdMap<ServerId, std::int64_t> epochs_;
    std::map<ServerId, ServerRecord> durable_;
    std::uint64_t registrations_ = 0;
    std::uint64_t reports_ = 0;
};

}  // namespace muster::sim
