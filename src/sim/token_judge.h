// Judges who is let in: once, in time, on the right server, and no more than were asked for.
// Invariant 8; K-2.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/events.h"
#include "sim/id_map.h"
#include "sim/registry.h"
#include "sim/slot_judge.h"

namespace muster::sim {

// A VALIDATE_TOKEN, with what must come of it by the rules at the moment core heard it.
struct TokenQuestion {
    LobbyId lobby;
    AccountId account;
    std::string token;
    std::int8_t player_count = 0;
    std::string forbidden;  // why it must be refused; empty when it may be accepted
    bool plain = false;     // nothing at all speaks against it: where nothing goes wrong it must be accepted
    bool unused = false;    // surely nobody's use stands against it: "already used" would be wrong
};

class TokenJudge final : public Judge {
public:
    TokenJudge(Objections& objections, const Registry& registry, const SlotJudge& slots)
        : objections_(objections), registry_(registry), slots_(slots) {}

    using Judge::happened;
    using Judge::heard;
    using Judge::said;

    void heard(const Scene& scene, LinkNumber link, const AllocateMatchAck& ack);
    void heard(const Scene& scene, LinkNumber link, const AllocationRequest& request);
    void heard(const Scene& scene, LinkNumber link, const MatchPlayers& list);
    void durable(Time now, const RecordBatch& batch);
    void said(const Scene& scene, LinkNumber link, const AllocateMatch& offer);
    void happened(const Scene& scene, const event::MatchOffered& event);
    void happened(const Scene& scene, const event::MatchStarted& event);
    void happened(const Scene& scene, const event::MatchEnded& event);
    void happened(const Scene& scene, const event::MatchAborted& event);
    void happened(const Scene& scene, const event::MatchRefused& event);
    void run_began(const Scene& scene, const Core& core);

    // From the judge of answers, which knows which question an answer belongs to.
    TokenQuestion ask(const Scene& scene, LinkNumber link, const ValidateToken& request);
    void answered(const Scene& scene, const TokenQuestion& question, bool accepted, std::string_view error);
    void list_asked(LinkNumber link, const MatchPlayers& list);
    void list_answered(const Scene& scene, LobbyId lobby, const std::vector<AccountId>& accounts, bool accepted);

    // In a world where nothing goes wrong, plain questions must be accepted.
    void expect_acceptance() { nothing_goes_wrong_ = true; }

    std::uint64_t accepted() const { return accepted_count_; }
    std::uint64_t refused() const { return refused_count_; }

private:
    // Lists that were asked for and not answered yet may count already; the last one accepted counts until another is.
    struct Lists {
        std::optional<std::vector<AccountId>> accepted;
        std::vector<std::vector<AccountId>> pending;
        bool lapsed = false;  // nobody spoke of the lobby for so long that the one accepted may be forgotten
    };

    std::string forbidden(const Scene& scene, LinkNumber link, const ValidateToken& request) const;
    std::optional<Time> began(const SeenLobby& lobby, const std::string& token) const;
    bool is_heeded(LinkNumber link) const;
    void mentioned(const Scene& scene, LobbyId lobby);
    bool may_be_listed(LobbyId lobby, AccountId account) const;
    void object(const Scene& scene, std::string what, const TokenQuestion& question);

    Objections& objections_;
    const Registry& registry_;
    const SlotJudge& slots_;
    std::unordered_map<std::string, std::set<AccountId>> used_;  // by token, of all runs
    std::unordered_map<std::string, int> unanswered_;     // questions by token, those on links that were lost too
    std::unordered_map<std::string, Time> acknowledged_;  // real time, of all runs
    std::unordered_map<std::string, Time> offered_;       // the same, when a server heard of it first
    IdMap<LobbyId, Lists> lists_;
    IdMap<LobbyId, Time> mentioned_;  // the last word of a lobby
    std::set<LobbyId> started_;
    bool nothing_goes_wrong_ = false;
    std::uint64_t accepted_count_ = 0;
    std::uint64_t refused_count_ = 0;
};

}  // namespace muster::sim
