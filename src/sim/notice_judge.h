// Judges what matchmakers are told of their matches: after the answer, to the right one, the latest, soon, and again
// when the link that it was told on is lost..
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/events.h"
#include "sim/id_map.h"
#include "sim/registry.h"
#include "sim/slot_judge.h"
#include "sim/verdict_judge.h"

namespace muster::sim {

// Judges after the judges of slots and of answers.
class NoticeJudge final : public Judge {
public:
    NoticeJudge(Objections& objections, const Registry& registry, const SlotJudge& slots, const VerdictJudge& verdicts)
        : objections_(objections), registry_(registry), slots_(slots), verdicts_(verdicts) {}

    using Judge::happened;
    using Judge::said;

    void said(const Scene& scene, LinkNumber link, const AllocationResponse& answer);
    void said(const Scene& scene, LinkNumber link, const MatchEventNotice& notice);
    void happened(const Scene& scene, const event::MatchOffered& event);
    void happened(const Scene& scene, const event::MatchAllocated& event);
    void happened(const Scene& scene, const event::MatchReady& event);
    void happened(const Scene& scene, const event::MatchStarted& event);
    void happened(const Scene& scene, const event::MatchEnded& event);
    void happened(const Scene& scene, const event::MatchAborted& event);
    void happened(const Scene& scene, const event::MatchRefused& event);
    void closed(const Scene& scene, LinkNumber link);
    void durable(Time now, const RecordBatch& batch);
    void run_began(const Scene& scene, const Core& core);
    void pass_ended(const Scene& scene, const Core& core);

    // Lobbies whose matchmaker has yet to be told something.
    std::size_t due() const { return due_.size(); }

private:
    struct Lobby {
        std::string matchmaker;
        bool answered = false;   // its success left for the matchmaker
        bool failed = false;     // a failure did, in the success's place
        bool recovered = false;  // it may have, in an earlier run
    };
    struct Told {
        LobbyId lobby;
        MatchEventKind kind;
    };
    // The latest time that a lobby's matchmaker was told something of it.
    struct Last {
        LinkNumber link = 0;
        Time at{};
    };

    // What one matchmaker may be told.
    struct Waiting {
        IdMap<LobbyId, std::optional<Time>> since;  // by lobby; while it is there
        bool there = false;                         // when it was last looked at
    };

    void came_about(LobbyId lobby, MatchEventKind kind);
    void may_leave(const Lobby& known, LobbyId lobby) { may_leave_[known.matchmaker].since.try_emplace(lobby); }
    // What is due is told as soon as its matchmaker may hear it.
    void owe(LobbyId lobby, MatchEventKind kind);
    void keep(const MatchRecord& match);
    void judge_withheld(const Scene& scene, Waiting& waiting);
    void object(const Scene& scene, std::string what, LobbyId lobby);

    Objections& objections_;
    const Registry& registry_;
    const SlotJudge& slots_;
    const VerdictJudge& verdicts_;
    IdMap<LobbyId, Lobby> lobbies_;
    IdMap<LobbyId, MatchEventKind> due_;        // the latest that was not told
    std::map<std::string, Waiting> may_leave_;  // of these, those whose success may have left, by matchmaker
    std::vector<Told> told_;                    // in this pass, ahead of its event
    IdMap<LobbyId, MatchEventKind> latest_;     // that came about
    std::set<LobbyId> cancelled_;               // and not on the disk yet: nobody has to be told before
    IdMap<LobbyId, Last> last_told_;
    IdMap<LinkNumber, std::vector<LobbyId>> told_on_;  // whatever was told on a link since it opened, once or more
    Time looked_at_{};
    IdMap<LobbyId, MatchRecord> durable_;  // those of which a new run may have to tell something
};

}  // namespace muster::sim
