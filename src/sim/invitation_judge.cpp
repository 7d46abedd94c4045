#include "sim/invitation_judge.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <variant>

#include "protocol/error_texts.h"
#include "store/latest_state.h"

namespace muster::sim {
namespace {

constexpr LobbyId last_lobby{std::numeric_limits<std::int32_t>::max()};

bool contains(const std::vector<AccountId>& accounts, AccountId account) {
    return std::find(accounts.begin(), accounts.end(), account) != accounts.end();
}

}  // namespace

void InvitationJudge::durable(Time, const RecordBatch& batch) {
    for (const Record& record : batch.records) {
        if (const auto* players = std::get_if<PlayersRecord>(&record)) {
            kept_[players->lobby] = players->accounts;
            list(players->lobby, players->accounts);
        } else if (const auto* none = std::get_if<PlayersForgotten>(&record)) {
            kept_.erase(none->lobby);
            list(none->lobby, {});
        } else if (const auto* match = std::get_if<MatchRecord>(&record); match && is_over(match->state)) {
            kept_.erase(match->lobby);
        }
    }
}

void InvitationJudge::list(LobbyId lobby, Accounts accounts) {
    List& known = lists_[lobby];
    // Several in one go: core goes by the oldest of them until it hears of the latest.
    if (!known.before) known.before = known.accounts;
    known.before->insert(known.before->end(), accounts.begin(), accounts.end());
    known.accounts = std::move(accounts);
    unsettled_.insert(lobby);
    told_.erase(lobby);
}

bool InvitationJudge::may_be_listed(LobbyId lobby, AccountId account) const {
    const auto found = lists_.find(lobby);
    if (found == lists_.end()) return false;
    return contains(found->second.accounts, account) ||
           (found->second.before && contains(*found->second.before, account));
}

bool InvitationJudge::is_surely_listed(LobbyId lobby, AccountId account) const {
    const auto found = lists_.find(lobby);
    return found != lists_.end() && !found->second.before && contains(found->second.accounts, account);
}

void InvitationJudge::said(const Scene& scene, LinkNumber link, const PlayerMatchStart& start) {
    ++invited_;
    const KnownSession* session = players_.on(link);
    const LobbyId lobby = start.lobby;
    if (!session) return object(scene, "A-10", "a link without a session is told to come", lobby);
    if (!may_be_listed(lobby, session->player))
        return object(scene, "A-10", "a player is told to come that is not listed", lobby);
    if (!ready_.contains(lobby))
        return object(scene, "A-10", "a player is told to come to a match that is not ready", lobby);
    const SeenLobby* seen = slots_.lobby(lobby);
    const SeenOffer* held = seen ? seen->held() : nullptr;
    if (!held || held->token != start.token.view())
        return object(scene, "A-10", "a player is told to come with another token", lobby);
    if (!told_[lobby].insert(link).second) return object(scene, "A-10", "a player is told to come twice", lobby);
    ever_told_.insert({link, lobby});
    owed_starts_.erase({link, lobby});
}

void InvitationJudge::said(const Scene& scene, LinkNumber link, const PlayerMatchAborted& aborted) {
    ++sent_away_;
    const KnownSession* session = players_.on(link);
    if (!session) return object(scene, "A-11", "a link without a session is told of an abort", aborted.lobby);
    const Due due{session->player, aborted.lobby};
    must_hear_.erase(due);
    if (may_hear_.erase(due) == 0)
        object(scene, "A-11", "a player is told that a match fell through, and it did not", aborted.lobby);
}

// Whoever comes hears what waits for it.
void InvitationJudge::said(const Scene&, LinkNumber link, const PlayerLoginResponse& answer) {
    const auto* accepted = std::get_if<PlayerLoginResponse::Accepted>(&answer.answer);
    const KnownSession* session = accepted ? players_.on(link) : nullptr;
    if (!session) return;
    for (const LobbyId lobby : ready_) owe_start(lobby, session->player);
}

// A list that came when the match was ready already.
void InvitationJudge::said(const Scene&, LinkNumber, const MatchPlayersResponse& answer) {
    const auto* accepted = std::get_if<LobbyAccepted>(&answer.answer);
    if (!accepted || !ready_.contains(accepted->lobby)) return;
    for (const AccountId account : lists_[accepted->lobby].accounts) owe_start(accepted->lobby, account);
}

void InvitationJudge::owe_start(LobbyId lobby, AccountId account) {
    const KnownSession* session = players_.of(account);
    if (!session || session->link == 0 || !players_.welcomed(session->link)) return;
    if (!is_surely_listed(lobby, account) || ever_told_.contains({session->link, lobby})) return;
    owed_starts_.insert({session->link, lobby});
}

void InvitationJudge::happened(const Scene&, const event::MatchReady& event) {
    ready_.insert(event.lobby);
    const auto found = lists_.find(event.lobby);
    if (found == lists_.end()) return;
    for (const AccountId account : found->second.accounts) owe_start(event.lobby, account);
}

void InvitationJudge::happened(const Scene&, const event::MatchStarted& event) {
    ready_.erase(event.lobby);
}

void InvitationJudge::happened(const Scene&, const event::MatchEnded& event) {
    ready_.erase(event.lobby);
    lists_.erase(event.lobby);
}

void InvitationJudge::happened(const Scene&, const event::MatchAborted& event) {
    ready_.erase(event.lobby);
    fell_through(event.lobby, true);
    lists_.erase(event.lobby);
}

// A request that is refused at once may be another's than the list; one for a match that lives changes nothing.
void InvitationJudge::happened(const Scene& scene, const event::MatchRefused& event) {
    if (slots_.live(event.lobby) || event.reason == text(Refusal::invalid_match_lobby_id)) return;
    const bool at_once = scene.cause == AllocationRequest::code && scene.cause_lobby == event.lobby;
    ready_.erase(event.lobby);
    fell_through(event.lobby, !at_once);
}

void InvitationJudge::fell_through(LobbyId lobby, bool must_be_told) {
    const auto found = lists_.find(lobby);
    if (found == lists_.end()) return;
    Accounts accounts = found->second.accounts;
    if (found->second.before)
        accounts.insert(accounts.end(), found->second.before->begin(), found->second.before->end());
    for (const AccountId account : accounts) {
        const KnownSession* session = players_.of(account);
        if (!session) continue;
        may_hear_.insert({account, lobby});
        const bool there = session->link == 0 || players_.welcomed(session->link);
        if (must_be_told && there && is_surely_listed(lobby, account)) must_hear_.insert({account, lobby});
    }
}

// Who logs in anew is the same account, and hears what it missed; so may one who is back before the pass ends.
void InvitationJudge::happened(const Scene&, const event::PlayerClosed& event) {
    left_.insert(event.player);
    if (event.reason == "Logged in elsewhere") return;
    std::erase_if(must_hear_, [&](const Due& due) { return due.first == event.player; });
}

void InvitationJudge::run_began(const Scene&, const Core& core) {
    told_.clear();
    ever_told_.clear();
    owed_starts_.clear();
    may_hear_.clear();
    must_hear_.clear();
    ready_.clear();
    core.matches().for_each([&](const Match& match) {
        if (match.record.state == MatchState::ready) ready_.insert(match.lobby());
    });
    lists_.clear();
    for (const auto& [lobby, accounts] : kept_) lists_.emplace_hint(lists_.end(), lobby, List{accounts, std::nullopt});
    left_.clear();
    unsettled_.clear();
}

void InvitationJudge::pass_ended(const Scene& scene, const Core& core) {
    for (const auto& [link, lobby] : std::exchange(owed_starts_, {})) {
        if (players_.on(link) && ready_.contains(lobby))
            return object(scene, "A-10", "a listed player is not told to come", lobby);
    }
    for (const auto& [account, lobby] : must_hear_) {
        const KnownSession* session = players_.of(account);
        if (session && session->link != 0 && players_.welcomed(session->link))
            return object(scene, "A-11", "a listed player is not told that its match fell through", lobby);
    }
    for (const AccountId account : std::exchange(left_, {})) {
        if (players_.of(account)) continue;
        may_hear_.erase(may_hear_.lower_bound({account, {}}), may_hear_.upper_bound({account, last_lobby}));
    }
    if (unsettled_.empty() || core.ledger().in_flight() != 0 || core.ledger().waiting()) return;
    for (const LobbyId lobby : std::exchange(unsettled_, {})) {
        if (const auto list = lists_.find(lobby); list != lists_.end()) list->second.before.reset();
    }
}

void InvitationJudge::object(const Scene& scene, std::string rule, std::string what, LobbyId lobby) {
    objections_.add({std::move(rule), std::move(what), lobby, {}, scene.now});
}

}  // namespace muster::sim
