// Judges the fleet: who is alive, who is a candidate, who drains, and what a load report may do.
// Invariants 9, 10, 11, 12 and 13; F-2, F-5, F-7, F-12, A-4; fault 29.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/events.h"
#include "sim/registry.h"
#include "sim/slot_judge.h"

namespace muster::sim {

// Hears of a match's end before the judge of slots forgets it.
class FleetJudge final : public Judge {
public:
    FleetJudge(Objections& objections, Registry& registry, const SlotJudge& slots)
        : objections_(objections), registry_(registry), slots_(slots) {}

    using Judge::happened;
    using Judge::heard;

    void heard(const Scene& scene, LinkNumber link, const ServerHeartbeat& beat);
    void heard(const Scene& scene, LinkNumber link, const ServerGoodbye& wish);
    void heard(const Scene& scene, LinkNumber link, const AllocateMatchAck& ack);
    void happened(const Scene& scene, const event::ServerRemoved& event);
    void happened(const Scene& scene, const event::MatchAborted& event);
    void happened(const Scene& scene, const event::MatchReady& event);
    void happened(const Scene& scene, const event::MatchEnded& event);
    void happened(const Scene& scene, const event::BrakeOn& event);
    void run_began(const Scene& scene, const Core& core);
    void pass_ended(const Scene& scene, const Core& core);

    std::uint64_t removed() const { return removed_; }
    std::uint64_t brakes() const { return brakes_; }

private:
    void judge_server(const Scene& scene, const Core& core, const KnownServer& known);
    void judge_silence(const Scene& scene, const Server& server, const KnownServer& known);
    void judge_best(const Scene& scene, const Core& core, RegionId region);
    void judge_brake(const Scene& scene, const Core& core, RegionId region);
    void judge_reconciled(const Scene& scene);
    std::int32_t load_of(const KnownServer& known) const;
    static bool is_free(const KnownServer& known, std::int32_t load);
    void object(const Scene& scene, std::string rule, std::string what, ServerId server, LobbyId lobby = {});

    Objections& objections_;
    Registry& registry_;
    const SlotJudge& slots_;
    std::set<ServerId> braked_;  // as of the last pass
    ServerId reconciled_;        // whose third low report was heard in this pass
    LinkNumber reconciled_link_ = 0;
    std::set<LobbyId> in_doubt_;  // recovered, and not heard of since: their servers are asked once more
    std::int32_t reported_then_ = 0;
    bool counts_earlier_then_ = false;  // more than the present registration has: its process was not restarted
    std::vector<LobbyId> held_then_;    // by it, and durable
    std::set<ServerId> leaving_;        // said GOODBYE in this pass
    Time judged_all_at_{};
    std::uint64_t passes_ = 0;  // since then
    std::uint64_t removed_ = 0;
    std::uint64_t brakes_ = 0;
};

}  // namespace muster::sim
