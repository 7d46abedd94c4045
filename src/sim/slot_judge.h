// Judges offers and slots: capacity, single placement, how an offer becomes a match, and how many are made.
// Invariants 1, 2, 5, 6 and 7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/events.h"
#include "sim/id_map.h"
#include "sim/registry.h"

namespace muster::sim {

struct SeenOffer {
    enum class State : std::uint8_t {
        chosen,  // its slot is taken, and its record is on the way to the disk
        offered,
        held,
        over,
    };

    ServerId server;
    LinkNumber link = 0;            // 0: recovered
    LinkNumber asked_again_on = 0;  // held, and its server was asked once more there
    std::string token;
    State state = State::offered;
    Time offered_at;  // running time
    bool timed_out = false;
    bool answered_late = false;        // after the time of its request, and before Muster took it back
    Time held_since;                   // real time of the acknowledgement
    std::uint64_t reports_before = 0;  // load reports before it
    bool end_reported = false;
};

// One lobby's request and match.
struct SeenLobby {
    std::string matchmaker;
    RegionId region;
    std::int8_t player_count = 0;
    Time asked;                     // real time
    std::vector<SeenOffer> offers;  // of the present request
    bool seeking = false;           // a request is open: no verdict yet
    bool allocated = false;         // acknowledged, so that its success may be told
    bool recovered = false;         // found at the start of a run

    bool live() const { return seeking || allocated; }
    // The offer that a server acknowledged; null when none is held.
    const SeenOffer* held() const;
};

class SlotJudge final : public Judge {
public:
    SlotJudge(Objections& objections, Registry& registry) : objections_(objections), registry_(registry) {}

    using Judge::happened;
    using Judge::heard;
    using Judge::said;

    void heard(const Scene& scene, LinkNumber link, const AllocationRequest& request);
    void heard(const Scene& scene, LinkNumber link, const AllocateMatchAck& ack);
    void heard(const Scene& scene, LinkNumber link, const MatchEndedReport& report);
    void heard(const Scene&, LinkNumber link, const ReadyForMatch& report) {
        spoke_of(link, report.server, report.lobby);
    }
    void heard(const Scene&, LinkNumber link, const MatchStartedReport& report) {
        spoke_of(link, report.server, report.lobby);
    }
    void said(const Scene& scene, LinkNumber link, const ValidateTokenResponse& answer);
    void said(const Scene& scene, LinkNumber link, const AllocateMatch& message);
    void said(const Scene& scene, LinkNumber link, const AbortMatch& abort);
    void happened(const Scene& scene, const event::MatchOffered& event);
    void happened(const Scene& scene, const event::MatchDeclined& event);
    void happened(const Scene& scene, const event::MatchAllocated& event);
    void happened(const Scene& scene, const event::MatchRefused& event);
    void happened(const Scene& scene, const event::MatchEnded& event);
    void happened(const Scene& scene, const event::MatchAborted& event);
    void happened(const Scene& scene, const event::ServerOffline& event);
    void happened(const Scene& scene, const event::ServerRemoved& event);
    void durable(Time now, const RecordBatch& batch);
    void run_began(const Scene& scene, const Core& core);
    void pass_ended(const Scene& scene, const Core& core);

    // Null for a lobby without a request or match now.
    const SeenLobby* lobby(LobbyId id) const;
    bool live(LobbyId id) const {
        const SeenLobby* seen = lobby(id);
        return seen && seen->live();
    }
    // Chosen ones too.
    std::int32_t offered(ServerId server) const { return count(server).offered; }
    std::int32_t held(ServerId server) const { return count(server).held; }
    // Both of them.
    std::int32_t taken(ServerId server) const {
        const Count& both = count(server);
        return both.offered + both.held;
    }
    const std::map<LobbyId, SeenLobby>& lobbies() const { return lobbies_; }

    // New requests of this run: all but those that joined one.
    std::uint64_t requests() const { return requests_; }
    // Further offers, of all runs.
    std::uint64_t retries() const { return retries_; }
    std::uint64_t allocations() const { return allocations_; }

private:
    struct Count {
        std::int32_t offered = 0;
        std::int32_t held = 0;
    };

    const Count& count(ServerId server) const;
    void object(const Scene& scene, std::string rule, std::string what, LobbyId lobby, ServerId server = {});
    SeenOffer* on_server(SeenLobby& lobby, ServerId server);
    void free_offer(SeenOffer& offer);
    void confirm(SeenOffer& offer, LinkNumber link);
    void spoke_of(LinkNumber link, ServerId by, LobbyId lobby);
    void hold(const Scene& scene, LobbyId id, SeenLobby& lobby, SeenOffer& offer);
    void close_lobby(LobbyId id);
    void judge_refusal(const Scene& scene, LobbyId id, const SeenLobby& lobby, std::string_view reason);
    bool can_surely_take(const Scene& scene, LobbyId id, const SeenLobby& lobby, const KnownServer& server) const;
    void recount(const Scene& scene, const Core& core, ServerId id);

    Objections& objections_;
    Registry& registry_;
    std::map<LobbyId, SeenLobby> lobbies_;
    IdMap<ServerId, Count> counts_;
    std::map<ServerId, std::set<LobbyId>> on_server_;
    // Offers that were taken back and whose answer is still owed: nothing is offered there again until it came.
    std::set<std::pair<LinkNumber, LobbyId>> unanswered_;
    std::set<LobbyId> seeking_;
    std::unordered_set<std::string> tokens_;  // ever
    std::map<LobbyId, MatchRecord> durable_;  // of matches that live
    std::uint64_t requests_ = 0;
    std::uint64_t retries_ = 0;
    std::uint64_t allocations_ = 0;
    std::int64_t taken_ = 0;  // slots, in this run
    std::int64_t freed_ = 0;
};

}  // namespace muster::sim
