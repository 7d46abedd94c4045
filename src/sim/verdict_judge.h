// Judges answers: each request has exactly one, in time, in the order asked where they name the same lobby, and the
// counts agree.
// Invariants 4 and 20; W-8, A-7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/id_map.h"
#include "sim/registry.h"
#include "sim/slot_judge.h"
#include "sim/token_judge.h"

namespace muster::sim {

class VerdictJudge final : public Judge {
public:
    VerdictJudge(Objections& objections, const Registry& registry, const SlotJudge& slots, TokenJudge& tokens)
        : objections_(objections), registry_(registry), slots_(slots), tokens_(tokens) {}

    using Judge::heard;
    using Judge::said;

    void heard(const Scene& scene, LinkNumber link, const AllocationRequest& request);
    void heard(const Scene& scene, LinkNumber link, const CancelMatch& wish);
    void heard(const Scene& scene, LinkNumber link, const MatchPlayers& list);
    void heard(const Scene& scene, LinkNumber link, const ReadyForMatch& report);
    void heard(const Scene& scene, LinkNumber link, const MatchStartedReport& report);
    void heard(const Scene& scene, LinkNumber link, const MatchEndedReport& report);
    void heard(const Scene& scene, LinkNumber link, const ValidateToken& request);
    void heard(const Scene& scene, LinkNumber link, const SetDraining& wish);
    void said(const Scene& scene, LinkNumber link, const AllocationResponse& answer);
    void said(const Scene& scene, LinkNumber link, const MatchEventNotice& notice);
    void said(const Scene& scene, LinkNumber link, const MatchPlayersResponse& answer);
    void said(const Scene& scene, LinkNumber link, const ReadyForMatchResponse& answer);
    void said(const Scene& scene, LinkNumber link, const MatchResponse& answer);
    void said(const Scene& scene, LinkNumber link, const ValidateTokenResponse& answer);
    void said(const Scene& scene, LinkNumber link, const ServerStatusNotice& notice);
    void said(const Scene& scene, LinkNumber link, const ServerError& error);
    void close_asked(const Scene& scene, LinkNumber link);
    void closed(const Scene& scene, LinkNumber link);
    void run_began(const Scene& scene, const Core& core);
    void pass_ended(const Scene& scene, const Core& core);

    // True when the notice that was said last answered a CANCEL.
    bool last_notice_answered_cancel() const { return last_notice_answered_cancel_; }
    // True when an allocation's answer for the lobby is still to leave on the link.
    bool awaits(LinkNumber link, LobbyId lobby) const;
    // True when the answer to something else about the lobby has to leave on the link before that to a CANCEL (W-8).
    bool cancel_waits_behind(LinkNumber link, LobbyId lobby) const;
    // Requests that wait for their answer on links that live.
    std::size_t waiting() const;

    // Of all runs: what matchmakers were told, and after how long. A repeated request counts again.
    const std::vector<Duration>& success_times() const { return success_times_; }
    const std::map<std::string, std::uint64_t>& failures() const { return failures_; }

private:
    struct Asked {
        Code answer = 0;
        LobbyId lobby{};
        AccountId account{};  // of a token's use
        Time heard{};
        std::optional<TokenQuestion> token{};
        std::vector<AccountId> accounts{};
    };
    using Queue = std::deque<Asked>;  // oldest first

    void ask(const Scene& scene, LinkNumber link, Asked asked);
    // Takes the question that this answers, the first that the link asked about the lobby; nothing when that is another
    // one.
    std::optional<Asked> answered(const Scene& scene, LinkNumber link, Code code, LobbyId lobby,
                                  AccountId account = {});
    bool awaits_status(LinkNumber link) const;
    void object(const Scene& scene, std::string rule, std::string what, LobbyId lobby);

    Objections& objections_;
    const Registry& registry_;
    const SlotJudge& slots_;
    TokenJudge& tokens_;
    IdMap<LinkNumber, Queue> queues_;
    // An answer out of order is wrong unless it was the link's last word, which is known when the pass ends.
    std::map<LinkNumber, Objection> out_of_order_;
    bool last_notice_answered_cancel_ = false;
    std::uint64_t requests_ = 0;  // of this run, for regions that are configured
    std::vector<Duration> success_times_;
    std::map<std::string, std::uint64_t> failures_;
};

}  // namespace muster::sim
