#include "sim/verdict_judge.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration request_time = 25s;
constexpr Duration verdict_slack = 2ms;

LobbyId lobby_of(const Either<LobbyAccepted, LobbyRefused>& answer) {
    return std::visit([](const auto& form) { return form.lobby; }, answer);
}

}  // namespace

void VerdictJudge::heard(const Scene& scene, LinkNumber link, const AllocationRequest& request) {
    const KnownLink* known = registry_.link(link);
    const bool configured = std::find(region_ids.begin(), region_ids.end(), request.region) != region_ids.end();
    if (known && known->greeted && !known->closing && configured) ++requests_;
    ask(scene, link, {.answer = AllocationResponse::code, .lobby = request.lobby});
}

void VerdictJudge::heard(const Scene& scene, LinkNumber link, const CancelMatch& wish) {
    ask(scene, link, {.answer = MatchEventNotice::code, .lobby = wish.lobby});
}

void VerdictJudge::heard(const Scene& scene, LinkNumber link, const MatchPlayers& list) {
    tokens_.list_asked(link, list);
    ask(scene, link, {.answer = MatchPlayersResponse::code, .lobby = list.lobby, .accounts = list.accounts.items});
}

void VerdictJudge::heard(const Scene& scene, LinkNumber link, const ReadyForMatch& report) {
    ask(scene, link, {.answer = ReadyForMatchResponse::code, .lobby = report.lobby});
}

void VerdictJudge::heard(const Scene& scene, LinkNumber link, const MatchStartedReport& report) {
    ask(scene, link, {.answer = MatchResponse::code, .lobby = report.lobby});
}

void VerdictJudge::heard(const Scene& scene, LinkNumber link, const MatchEndedReport& report) {
    ask(scene, link, {.answer = MatchResponse::code, .lobby = report.lobby});
}

void VerdictJudge::heard(const Scene& scene, LinkNumber link, const ValidateToken& request) {
    ask(scene, link,
        {.answer = ValidateTokenResponse::code,
         .lobby = request.lobby,
         .account = request.account,
         .token = tokens_.ask(scene, link, request)});
}

void VerdictJudge::heard(const Scene& scene, LinkNumber link, const SetDraining&) {
    ask(scene, link, {.answer = ServerStatusNotice::code});
}

void VerdictJudge::ask(const Scene& scene, LinkNumber link, Asked asked) {
    const KnownLink* known = registry_.link(link);
    if (!known || !known->greeted || known->closing) return;
    asked.heard = scene.now;
    queues_[link].push_back(std::move(asked));
}

void VerdictJudge::said(const Scene& scene, LinkNumber link, const AllocationResponse& answer) {
    const auto* accepted = std::get_if<AllocationResponse::Accepted>(&answer.answer);
    const auto* refused = std::get_if<LobbyRefused>(&answer.answer);
    const LobbyId lobby = accepted ? accepted->lobby : refused->lobby;
    const auto asked = answered(scene, link, AllocationResponse::code, lobby);
    if (!asked) return;
    const Duration took = scene.now - asked->heard;
    if (refused) {
        ++failures_[refused->error.string()];
        return;
    }
    if (took > request_time) {
        return object(scene, "invariant 4", fmt::format("a success after {:.3f} s", to_seconds(took)), lobby);
    }
    success_times_.push_back(took);
}

// An event is the answer to a CANCEL when its reason is one of the two that such an answer has.
void VerdictJudge::said(const Scene& scene, LinkNumber link, const MatchEventNotice& notice) {
    last_notice_answered_cancel_ = false;
    const bool fits = notice.event == MatchEventKind::aborted &&
                      (notice.reason == text(Reason::cancelled) || notice.reason == text(Reason::match_not_found));
    if (!fits) return;
    // An event of a match that was cancelled may be told again after a handshake: then nobody waits for it.
    const auto queue = queues_.find(link);
    const bool waited_for =
        queue != queues_.end() && std::any_of(queue->second.begin(), queue->second.end(), [&](const Asked& asked) {
            return asked.answer == MatchEventNotice::code && asked.lobby == notice.lobby;
        });
    if (!waited_for && notice.reason == text(Reason::cancelled)) return;
    last_notice_answered_cancel_ = answered(scene, link, MatchEventNotice::code, notice.lobby).has_value();
}

void VerdictJudge::said(const Scene& scene, LinkNumber link, const MatchPlayersResponse& answer) {
    const LobbyId lobby = lobby_of(answer.answer);
    const auto asked = answered(scene, link, MatchPlayersResponse::code, lobby);
    if (!asked) return;
    tokens_.list_answered(scene, lobby, asked->accounts, std::holds_alternative<LobbyAccepted>(answer.answer));
}

void VerdictJudge::said(const Scene& scene, LinkNumber link, const ReadyForMatchResponse& answer) {
    answered(scene, link, ReadyForMatchResponse::code, lobby_of(answer.answer));
}

void VerdictJudge::said(const Scene& scene, LinkNumber link, const MatchResponse& answer) {
    answered(scene, link, MatchResponse::code, lobby_of(answer.answer));
}

void VerdictJudge::said(const Scene& scene, LinkNumber link, const ValidateTokenResponse& answer) {
    const auto* accepted = std::get_if<ValidateTokenResponse::Accepted>(&answer.answer);
    const auto* refused = std::get_if<ValidateTokenResponse::Refused>(&answer.answer);
    const LobbyId lobby = accepted ? accepted->lobby : refused->lobby;
    const AccountId account = accepted ? accepted->account : refused->account;
    const auto asked = answered(scene, link, ValidateTokenResponse::code, lobby, account);
    if (asked && asked->token)
        tokens_.answered(scene, *asked->token, accepted != nullptr, refused ? refused->error.view() : "");
}

// Also sent when an operator changes the status: then nobody asked.
void VerdictJudge::said(const Scene& scene, LinkNumber link, const ServerStatusNotice&) {
    if (awaits_status(link) || scene.cause == SetDraining::code) answered(scene, link, ServerStatusNotice::code, {});
}

// A wish that waited for the disk may have been taken for answered by an operator's change meanwhile.
void VerdictJudge::said(const Scene& scene, LinkNumber link, const ServerError& error) {
    if (error.refused_code == SetDraining::code && awaits_status(link))
        answered(scene, link, ServerStatusNotice::code, {});
}

bool VerdictJudge::awaits_status(LinkNumber link) const {
    const auto queue = queues_.find(link);
    return queue != queues_.end() && std::any_of(queue->second.begin(), queue->second.end(), [](const Asked& one) {
               return one.answer == ServerStatusNotice::code;
           });
}

std::optional<VerdictJudge::Asked> VerdictJudge::answered(const Scene& scene, LinkNumber link, Code code, LobbyId lobby,
                                                          AccountId account) {
    Queue& queue = queues_[link];
    const auto fits = [&](const Asked& asked) {
        return asked.answer == code && asked.lobby == lobby && asked.account == account;
    };
    // Questions over HTTP come on connections of their own: each is answered when it can be.
    const auto first = link == api_link ? std::find_if(queue.begin(), queue.end(), fits)
                                        : std::find_if(queue.begin(), queue.end(),
                                                       [lobby](const Asked& asked) { return asked.lobby == lobby; });
    if (std::none_of(queue.begin(), queue.end(), fits)) {
        out_of_order_.try_emplace(
            link,
            Objection{"invariant 4", fmt::format("an answer {:#x} that nobody waits for", code), lobby, {}, scene.now});
        return std::nullopt;
    }
    if (!fits(*first)) {
        const std::string what = fmt::format("an answer {:#x} overtakes {:#x} for the same lobby", code, first->answer);
        out_of_order_.try_emplace(link, Objection{"W-8", what, lobby, {}, scene.now});
        return std::nullopt;
    }
    Asked asked = std::move(*first);
    queue.erase(first);
    return asked;
}

void VerdictJudge::close_asked(const Scene&, LinkNumber link) {
    queues_.erase(link);
    out_of_order_.erase(link);
}

void VerdictJudge::closed(const Scene&, LinkNumber link) {
    queues_.erase(link);
}

void VerdictJudge::run_began(const Scene&, const Core&) {
    queues_.clear();
    out_of_order_.clear();
    requests_ = 0;
}

void VerdictJudge::pass_ended(const Scene& scene, const Core& core) {
    for (const auto& [link, objection] : out_of_order_) objections_.add(objection);
    for (const auto& [link, queue] : queues_) {
        for (const Asked& asked : queue) {
            if (asked.answer != AllocationResponse::code) continue;
            if (scene.now - asked.heard > request_time + verdict_slack && !scene.timers_left) {
                object(scene, "A-7", "a request without an answer after 25 s", asked.lobby);
            }
            break;  // the rest came later
        }
    }
    // What core counts must be what was asked and answered (invariant 20).
    std::uint64_t verdicts = 0;
    core.region_figures().for_each_region([&](RegionId, const RegionFigures::OfRegion& region) {
        verdicts += region.allocations;
        for (const auto& [label, count] : region.failures) verdicts += count;
    });
    const std::uint64_t in_flight = core.matches().in_flight();
    if (verdicts + in_flight != slots_.requests()) {
        object(scene, "invariant 20",
               fmt::format("{} requests, but {} verdicts and {} in flight", slots_.requests(), verdicts, in_flight),
               {});
    }
    std::uint64_t counted = 0;
    for (const auto& [region, requests] : core.matches().figures().requests) counted += requests;
    if (counted != requests_) {
        object(scene, "invariant 20", fmt::format("{} requests counted, {} asked", counted, requests_), {});
    }
}

bool VerdictJudge::awaits(LinkNumber link, LobbyId lobby) const {
    const auto queue = queues_.find(link);
    return queue != queues_.end() && std::any_of(queue->second.begin(), queue->second.end(), [&](const Asked& asked) {
               return asked.answer == AllocationResponse::code && asked.lobby == lobby;
           });
}

bool VerdictJudge::cancel_waits_behind(LinkNumber link, LobbyId lobby) const {
    const auto queue = queues_.find(link);
    if (queue == queues_.end() || link == api_link) return false;
    const auto first = std::find_if(queue->second.begin(), queue->second.end(),
                                    [lobby](const Asked& asked) { return asked.lobby == lobby; });
    return first != queue->second.end() && first->answer != MatchEventNotice::code;
}

std::size_t VerdictJudge::waiting() const {
    std::size_t count = 0;
    for (const auto& [link, queue] : queues_) count += queue.size();
    return count;
}

void VerdictJudge::object(const Scene& scene, std::string rule, std::string what, LobbyId lobby) {
    objections_.add({std::move(rule), std::move(what), lobby, {}, scene.now});
}

}  // namespace muster::sim
