// Judges what players are told of their matches: to come when it is ready, and that it fell through; those who are
// listed, and nobody else.
//
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/events.h"
#include "protocol/messages.h"
#include "sim/judge.h"
#include "sim/player_judge.h"
#include "sim/slot_judge.h"

namespace muster::sim {

// Judges after the judges of slots and of players.
class InvitationJudge final : public Judge {
public:
    InvitationJudge(Objections& objections, const SlotJudge& slots, const PlayerJudge& players)
        : objections_(objections), slots_(slots), players_(players) {}

    using Judge::happened;
    using Judge::said;

    void said(const Scene& scene, LinkNumber link, const PlayerMatchStart& start);
    void said(const Scene& scene, LinkNumber link, const PlayerMatchAborted& aborted);
    void said(const Scene& scene, LinkNumber link, const PlayerLoginResponse& answer);
    void said(const Scene& scene, LinkNumber link, const MatchPlayersResponse& answer);
    void happened(const Scene& scene, const event::MatchReady& event);
    void happened(const Scene& scene, const event::MatchStarted& event);
    void happened(const Scene& scene, const event::MatchEnded& event);
    void happened(const Scene& scene, const event::MatchAborted& event);
    void happened(const Scene& scene, const event::MatchRefused& event);
    void happened(const Scene& scene, const event::PlayerClosed& event);
    void durable(Time now, const RecordBatch& batch);
    void run_began(const Scene& scene, const Core& core);
    void pass_ended(const Scene& scene, const Core& core);

    std::uint64_t invited() const { return invited_; }
    std::uint64_t sent_away() const { return sent_away_; }

private:
    using Accounts = std::vector<AccountId>;
    // What became durable, and what core may still go by until it has heard of that.
    struct List {
        Accounts accounts;
        std::optional<Accounts> before;
    };
    using Told = std::pair<LinkNumber, LobbyId>;
    using Due = std::pair<AccountId, LobbyId>;

    void list(LobbyId lobby, Accounts accounts);
    bool may_be_listed(LobbyId lobby, AccountId account) const;
    bool is_surely_listed(LobbyId lobby, AccountId account) const;
    void owe_start(LobbyId lobby, AccountId account);
    void fell_through(LobbyId lobby, bool must_be_told);
    void object(const Scene& scene, std::string rule, std::string what, LobbyId lobby);

    Objections& objections_;
    const SlotJudge& slots_;
    const PlayerJudge& players_;
    std::map<LobbyId, Accounts> kept_;              // on the disk
    std::map<LobbyId, List> lists_;                 // that count in this run
    std::set<LobbyId> ready_;                       // and not started
    std::map<LobbyId, std::set<LinkNumber>> told_;  // since the latest list
    std::set<Told> ever_told_;
    std::set<Told> owed_starts_;   // in this pass
    std::set<Due> may_hear_;       // that its match fell through
    std::set<Due> must_hear_;      // the same, as soon as it is connected
    std::set<AccountId> left_;     // in this pass
    std::set<LobbyId> unsettled_;  // their list has a `before`
    std::uint64_t invited_ = 0;
    std::uint64_t sent_away_ = 0;
};

}  // namespace muster::sim
