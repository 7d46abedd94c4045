#include "sim/promise_judge.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "store/latest_state.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

std::vector<AccountId> as_kept(std::vector<AccountId> accounts) {
    std::sort(accounts.begin(), accounts.end());
    accounts.erase(std::unique(accounts.begin(), accounts.end()), accounts.end());
    return accounts;
}

}  // namespace

void PromiseJudge::durable(Time, const RecordBatch& batch) {
    for (const Record& record : batch.records) {
        if (const auto* match = std::get_if<MatchRecord>(&record)) {
            matches_[match->lobby] = *match;
            unsettled_.insert(match->lobby);
            if (!match->token.empty()) offered_[match->token] = *match;
            if (is_over(match->state)) {
                uses_.erase(match->lobby);
                players_.erase(match->lobby);
            }
        } else if (const auto* forgotten = std::get_if<MatchForgotten>(&record)) {
            matches_.erase(forgotten->lobby);
            unsettled_.insert(forgotten->lobby);
            uses_.erase(forgotten->lobby);
        } else if (const auto* use = std::get_if<TokenUsed>(&record)) {
            uses_[use->lobby].insert(use->account);
            used_.insert({use->lobby, use->account});
        } else if (const auto* released = std::get_if<TokenReleased>(&record)) {
            uses_[released->lobby].erase(released->account);
            used_.erase({released->lobby, released->account});
        } else if (const auto* list = std::get_if<PlayersRecord>(&record)) {
            players_[list->lobby] = list->accounts;
            listed_.insert(list->lobby);
        } else if (const auto* void_list = std::get_if<PlayersForgotten>(&record)) {
            players_.erase(void_list->lobby);
        }
    }
}

// The record of an offer is the promise: it is on the disk before its server hears of it.
void PromiseJudge::said(const Scene& scene, LinkNumber link, const AllocateMatch& offer) {
    const auto record = offered_.find(offer.token.string());
    // A token that two lobbies share is the business of the judge of slots.
    if (record != offered_.end() && record->second.lobby != offer.lobby) return;
    const KnownServer* server = registry_.speaker(link);
    if (record == offered_.end() || (server && record->second.server != server->id))
        return object(scene, "invariant 3", "a server is offered a match that is not on the disk", offer.lobby);
    const auto latest = matches_.find(offer.lobby);
    if (latest == matches_.end() || latest->second.token != offer.token.view())
        object(scene, "invariant 3", "a server is offered a match that the disk knows otherwise by now", offer.lobby);
}

void PromiseJudge::said(const Scene& scene, LinkNumber, const AllocationResponse& answer) {
    const auto* accepted = std::get_if<AllocationResponse::Accepted>(&answer.answer);
    if (!accepted) return;
    const LobbyId lobby = accepted->lobby;
    const auto record = offered_.find(accepted->token.string());
    if (record == offered_.end() || record->second.lobby != lobby) {
        return object(scene, "invariant 3", "a success is told that is not on the disk", lobby);
    }
    const MatchRecord& kept = record->second;
    if (kept.server != accepted->server || kept.server_ip != accepted->endpoint.ip.view() ||
        kept.server_port != accepted->endpoint.port ||
        (kept.state != MatchState::offering && kept.allocated_at != accepted->time)) {
        return object(scene, "invariant 3", "a success is told that is otherwise on the disk", lobby);
    }
    const auto [before, fresh] = promised_.try_emplace(lobby, *accepted);
    if (fresh || before->second == *accepted) return;
    // A crash may have lost when it was acknowledged. Then the time of the request counts, which is earlier.
    AllocationResponse::Accepted& known = before->second;
    const bool only_earlier = known.server == accepted->server && known.endpoint == accepted->endpoint &&
                              known.token == accepted->token && accepted->time == kept.requested_at &&
                              accepted->time <= known.time;
    if (!only_earlier) {
        object(scene, "A-8",
               fmt::format("told server {} before and server {} now", known.server.value, accepted->server.value),
               lobby);
    }
    known = *accepted;
}

void PromiseJudge::said(const Scene& scene, LinkNumber, const ValidateTokenResponse& answer) {
    const auto* accepted = std::get_if<ValidateTokenResponse::Accepted>(&answer.answer);
    if (!accepted) return;
    if (!used_.contains({accepted->lobby, accepted->account})) {
        return object(scene, "invariant 3", "an account is let in that is not on the disk", accepted->lobby);
    }
    let_in_[accepted->lobby].insert(accepted->account);
}

void PromiseJudge::said(const Scene& scene, LinkNumber, const MatchPlayersResponse& answer) {
    const auto* accepted = std::get_if<LobbyAccepted>(&answer.answer);
    if (!accepted) return;
    if (!listed_.contains(accepted->lobby)) {
        return object(scene, "invariant 3", "a list of players is taken that is not on the disk", accepted->lobby);
    }
    // Which of several lists in flight this one answers is not told; the disk has the latest.
    if (players_.contains(accepted->lobby)) lists_told_.insert(accepted->lobby);
}

void PromiseJudge::heard(const Scene&, LinkNumber link, const ReadyForMatch& report) {
    reported_[{link, report.lobby}].push_back(MatchState::ready);
}

void PromiseJudge::heard(const Scene&, LinkNumber link, const MatchStartedReport& report) {
    reported_[{link, report.lobby}].push_back(MatchState::started);
}

void PromiseJudge::heard(const Scene&, LinkNumber link, const MatchEndedReport& report) {
    reported_[{link, report.lobby}].push_back(MatchState::ended);
}

void PromiseJudge::heard(const Scene& scene, LinkNumber link, const CancelMatch& wish) {
    cancels_.try_emplace({link, wish.lobby}, Cancel{scene.now});
}

void PromiseJudge::said(const Scene& scene, LinkNumber link, const ReadyForMatchResponse& answer) {
    report_answered(scene, link, answer.answer);
}

void PromiseJudge::said(const Scene& scene, LinkNumber link, const MatchResponse& answer) {
    report_answered(scene, link, answer.answer);
}

// A report that is answered with yes is on the disk. Answers about a lobby come in the order of its reports.
void PromiseJudge::report_answered(const Scene& scene, LinkNumber link,
                                   const Either<LobbyAccepted, LobbyRefused>& answer) {
    const LobbyId lobby = std::visit([](const auto& form) { return form.lobby; }, answer);
    const auto reports = reported_.find({link, lobby});
    if (reports == reported_.end()) return;  // the judge of answers objects
    const MatchState state = reports->second.front();
    reports->second.pop_front();
    if (reports->second.empty()) reported_.erase(reports);
    if (!std::holds_alternative<LobbyAccepted>(answer)) return;
    const auto kept = matches_.find(lobby);
    if (kept == matches_.end() || kept->second.state < state)
        object(scene, "invariant 3", "a report is answered that is not on the disk", lobby);
}

// So is an abort that its matchmaker asked for, as long as there is a disk to be waited for. A request that was
// withdrawn may be asked again meanwhile: only a match that was promised is judged.
void PromiseJudge::said(const Scene& scene, LinkNumber link, const MatchEventNotice& notice) {
    if (notice.event != MatchEventKind::aborted || notice.reason != text(Reason::cancelled)) return;
    const auto asked = cancels_.find({link, notice.lobby});
    if (asked == cancels_.end()) return;
    // It waits for the disk no longer than a request does.
    const bool waits_for_disk = scene.now - asked->second.heard < 24'999ms && !asked->second.without_disk;
    cancels_.erase(asked);
    const auto kept = matches_.find(notice.lobby);
    if (waits_for_disk && promised_.contains(notice.lobby) && kept != matches_.end() && !is_over(kept->second.state))
        cancelled_.push_back(notice.lobby);
}

void PromiseJudge::pass_ended(const Scene& scene, const Core& core) {
    // Those that the ledger has broken in this pass leave it at its bound.
    const Ledger& ledger = core.ledger();
    const bool breaks_promises = !ledger.store_up() || ledger.promises_waiting() >= ledger.limits().promises_waiting;
    for (const LobbyId lobby : std::exchange(cancelled_, {})) {
        if (!breaks_promises) object(scene, "invariant 3", "a cancel is answered that is not on the disk", lobby);
    }
    if (!breaks_promises) return;
    // An answer that is known now leaves later when another about its lobby is before it (W-8).
    for (auto& [of, cancel] : cancels_) {
        if (verdicts_.cancel_waits_behind(of.first, of.second)) cancel.without_disk = true;
    }
}

void PromiseJudge::closed(const Scene&, LinkNumber link) {
    const auto forget = [link](auto& of_links) {
        const LobbyId least(std::numeric_limits<std::int32_t>::min());
        of_links.erase(of_links.lower_bound({link, least}), of_links.lower_bound({link + 1, least}));
    };
    forget(reported_);
    forget(cancels_);
}

void PromiseJudge::run_began(const Scene& scene, const Core& core) {
    reported_.clear();
    cancels_.clear();
    cancelled_.clear();
    for (const LobbyId lobby : unsettled_) {
        if (const auto promised = promised_.find(lobby); promised != promised_.end())
            judge_recovered_match(scene, core, promised->second);
    }
    std::erase_if(lists_told_, [this](LobbyId lobby) {
        const auto match = matches_.find(lobby);
        return match != matches_.end() && is_over(match->second.state);
    });
    for (const LobbyId lobby : lists_told_) {
        const auto kept = players_.find(lobby);
        if (kept == players_.end()) {
            object(scene, "invariant 14", "a list of players that was taken is gone from the disk", lobby);
            continue;
        }
        const auto* accounts = core.matches().lists().accounts(lobby);
        if (accounts && *accounts == kept->second) continue;
        if (!accounts || as_kept(*accounts) != as_kept(kept->second)) {
            object(scene, "invariant 14", "a list of players that was taken is gone", lobby);
        }
    }
    // Recovering twice is recovering once: all that is on the disk is in core, and core has nothing else.
    core.matches().for_each([&](const Match& match) {
        const auto kept = matches_.find(match.lobby());
        if (kept == matches_.end() || is_over(kept->second.state)) {
            object(scene, "invariant 14", "core recovers a match that is not on the disk", match.lobby());
        }
    });
    for (const LobbyId lobby : unsettled_) {
        const auto match = matches_.find(lobby);
        if (match == matches_.end() || is_over(match->second.state) || core.matches().find(lobby)) continue;
        if (core.fleet().find(match->second.server))
            object(scene, "invariant 14", "a match that is on the disk is gone after the restart", lobby);
    }
    std::erase_if(unsettled_, [this](LobbyId lobby) {
        const auto match = matches_.find(lobby);
        return match == matches_.end() ? !promised_.contains(lobby) : is_over(match->second.state);
    });
}

void PromiseJudge::judge_recovered_match(const Scene& scene, const Core& core,
                                         const AllocationResponse::Accepted& promised) {
    const auto kept = matches_.find(promised.lobby);
    if (kept == matches_.end()) {
        return object(scene, "invariant 14", "a success that was told is gone from the disk", promised.lobby);
    }
    if (is_over(kept->second.state)) return;
    const Match* match = core.matches().find(promised.lobby);
    if (!match)
        return object(scene, "invariant 14", "a success that was told is gone after the restart", promised.lobby);
    if (match->record.token != promised.token.view() || match->record.server != promised.server) {
        return object(scene, "invariant 14", "a success that was told is another after the restart", promised.lobby);
    }
    for (const AccountId account : let_in_[promised.lobby]) {
        if (std::find(match->used.begin(), match->used.end(), account) == match->used.end()) {
            return object(scene, "invariant 14",
                          fmt::format("account {} was let in, and may come again after the restart", account.value),
                          promised.lobby);
        }
    }
}

void PromiseJudge::object(const Scene& scene, std::string rule, std::string what, LobbyId lobby) {
    objections_.add({std::move(rule), std::move(what), lobby, {}, scene.now});
}

}  // namespace muster::sim
