// Judges promises: nothing is told or offered before it is durable, and what was told is there after any crash.
// Invariants 3 and 14.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protocol/messages.h"
#include "sim/id_map.h"
#include "sim/registry.h"
#include "sim/verdict_judge.h"

namespace muster::sim {

class PromiseJudge final : public Judge {
public:
    PromiseJudge(Objections& objections, const Registry& registry, const VerdictJudge& verdicts)
        : objections_(objections), registry_(registry), verdicts_(verdicts) {}

    using Judge::heard;
    using Judge::said;

    void heard(const Scene& scene, LinkNumber link, const ReadyForMatch& report);
    void heard(const Scene& scene, LinkNumber link, const MatchStartedReport& report);
    void heard(const Scene& scene, LinkNumber link, const MatchEndedReport& report);
    void heard(const Scene& scene, LinkNumber link, const CancelMatch& wish);
    void said(const Scene& scene, LinkNumber link, const AllocateMatch& offer);
    void said(const Scene& scene, LinkNumber link, const AllocationResponse& answer);
    void said(const Scene& scene, LinkNumber link, const ValidateTokenResponse& answer);
    void said(const Scene& scene, LinkNumber link, const MatchPlayersResponse& answer);
    void said(const Scene& scene, LinkNumber link, const ReadyForMatchResponse& answer);
    void said(const Scene& scene, LinkNumber link, const MatchResponse& answer);
    void said(const Scene& scene, LinkNumber link, const MatchEventNotice& notice);
    void closed(const Scene& scene, LinkNumber link);
    void durable(Time now, const RecordBatch& batch);
    void run_began(const Scene& scene, const Core& core);
    void pass_ended(const Scene& scene, const Core& core);

    // Lobbies whose success was told, ever.
    std::size_t lobbies_allocated() const { return promised_.size(); }

private:
    struct Cancel {
        Time heard{};
        bool without_disk = false;  // its answer may have become known while the ledger broke promises
    };

    void object(const Scene& scene, std::string rule, std::string what, LobbyId lobby);
    void judge_recovered_match(const Scene& scene, const Core& core, const AllocationResponse::Accepted& promised);
    void report_answered(const Scene& scene, LinkNumber link, const Either<LobbyAccepted, LobbyRefused>& answer);

    Objections& objections_;
    const Registry& registry_;
    const VerdictJudge& verdicts_;

    // On the disk now.
    IdMap<LobbyId, MatchRecord> matches_;
    std::set<LobbyId> unsettled_;  // those that a new run has to be asked about: the record changed, or is not over
    IdMap<LobbyId, std::set<AccountId>> uses_;
    IdMap<LobbyId, std::vector<AccountId>> players_;
    // Was on the disk at some time, and was not taken back.
    std::unordered_map<std::string, MatchRecord> offered_;  // by token, as it stood last
    std::set<std::pair<LobbyId, AccountId>> used_;
    std::set<LobbyId> listed_;
    // What matchmakers and game servers were told.
    IdMap<LobbyId, AllocationResponse::Accepted> promised_;
    IdMap<LobbyId, std::set<AccountId>> let_in_;
    std::set<LobbyId> lists_told_;  // of lobbies that are not over
    // What servers have reported and not been answered, in their order.
    std::map<std::pair<LinkNumber, LobbyId>, std::deque<MatchState>> reported_;
    std::map<std::pair<LinkNumber, LobbyId>, Cancel> cancels_;  // not answered yet; of several the first
    std::vector<LobbyId> cancelled_;                            // told so in this pass, and not over on the disk
};

}  // namespace muster::sim
