// Judges what game servers are told to drop: what a server was told to drop is not answered as its match, and what fell
// through while it was away it hears when it is back, also after a restart. After any crash no server holds a match
// that Muster neither knows nor will tell it to drop. A-9, F-6, A-7, A-11; faults 65 and 72.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/events.h"
#include "sim/id_map.h"
#include "sim/registry.h"
#include "sim/slot_judge.h"

namespace muster::sim {

// Judges after the judge of slots.
class DropJudge final : public Judge {
public:
    DropJudge(Objections& objections, const Registry& registry, const SlotJudge& slots)
        : objections_(objections), registry_(registry), slots_(slots) {}

    using Judge::happened;
    using Judge::heard;
    using Judge::said;

    void heard(const Scene& scene, LinkNumber link, const ServerHeartbeat& beat);
    void heard(const Scene& scene, LinkNumber link, const AllocateMatchAck& ack);
    void heard(const Scene& scene, LinkNumber link, const ReadyForMatch& report);
    void heard(const Scene& scene, LinkNumber link, const MatchStartedReport& report);
    void heard(const Scene& scene, LinkNumber link, const ValidateToken& request);
    void heard(const Scene& scene, LinkNumber link, const MatchEndedReport& report);
    void said(const Scene& scene, LinkNumber link, const AllocateMatch& offer);
    void said(const Scene& scene, LinkNumber link, const AbortMatch& abort);
    void said(const Scene& scene, LinkNumber link, const AllocationResponse& answer);
    void said(const Scene& scene, LinkNumber link, const ServerHandshakeResponse& response);
    void happened(const Scene& scene, const event::MatchEnded& event);
    void happened(const Scene& scene, const event::MatchAborted& event);
    void closed(const Scene& scene, LinkNumber link);
    void durable(Time now, const RecordBatch& batch);
    void run_began(const Scene& scene, const Core& core);
    void pass_ended(const Scene& scene, const Core& core);

private:
    using Endpoint = std::pair<std::string, std::int32_t>;

    // What an endpoint may hold: it was offered it, and nothing says that it does not.
    struct MayHold {
        LinkNumber told_on = 0;  // to drop it, on a link that has stood since
        Time told{};             // running time
    };

    using Held = std::pair<Endpoint, LobbyId>;

    static Held held(const KnownServer& server, LobbyId lobby);
    void holds(LinkNumber link, LobbyId lobby);
    void holds_no_more(LinkNumber link, LobbyId lobby);
    bool is_known(const Endpoint& endpoint, LobbyId lobby) const;

    Objections& objections_;
    const Registry& registry_;
    const SlotJudge& slots_;
    std::set<std::pair<ServerId, LobbyId>> dropped_;   // in all runs: told so, and it did not say again that it has it
    std::map<Endpoint, std::set<LobbyId>> on_disk_;    // owed to whoever registers there
    std::map<Endpoint, std::set<LobbyId>> owed_;       // since the last run
    std::map<LinkNumber, std::set<LobbyId>> to_hear_;  // in this pass
    IdMap<LobbyId, MatchRecord> matches_;              // on the disk, those that live
    std::set<std::pair<ServerId, LobbyId>> doubted_;   // ready or started when the run began, and not spoken of since
    std::map<Held, MayHold> may_hold_;
    IdMap<LinkNumber, std::vector<Held>> told_on_;     // what was told on a link since it opened
    std::deque<std::pair<Time, Held>> heard_in_turn_;  // when each was told, the first first
};

}  // namespace muster::sim
