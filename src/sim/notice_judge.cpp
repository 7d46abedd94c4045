#include "sim/notice_judge.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "protocol/error_texts.h"
#include "store/latest_state.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration notice_heard_after = 10min;  // told for so long on a link that stands
constexpr Duration withheld_most = 1s;          // what is told again comes in portions
constexpr Duration notice_look_every = 50ms;    // at what is withheld

}  // namespace

void NoticeJudge::said(const Scene&, LinkNumber link, const AllocationResponse& answer) {
    const auto* accepted = std::get_if<AllocationResponse::Accepted>(&answer.answer);
    const KnownLink* known = registry_.link(link);
    if (const auto* refused = std::get_if<LobbyRefused>(&answer.answer)) {
        // Of an allocated lobby only when the success came too late to be told.
        const auto allocated = lobbies_.find(refused->lobby);
        if (known && allocated != lobbies_.end() && allocated->second.matchmaker == known->matchmaker)
            allocated->second.failed = true;
    }
    if (!accepted || !known) return;
    Lobby& lobby = lobbies_[accepted->lobby];
    lobby.matchmaker = known->matchmaker;
    lobby.answered = true;
    if (due_.contains(accepted->lobby)) may_leave(lobby, accepted->lobby);
}

void NoticeJudge::said(const Scene& scene, LinkNumber link, const MatchEventNotice& notice) {
    const auto found = lobbies_.find(notice.lobby);
    const KnownLink* known = registry_.link(link);
    if (known && found != lobbies_.end() && found->second.matchmaker == known->matchmaker) {
        last_told_[notice.lobby] = {link, scene.now};
        told_on_[link].push_back(notice.lobby);
    }
    if (verdicts_.last_notice_answered_cancel()) return;
    if (found == lobbies_.end()) return object(scene, "an event for a lobby that has no match", notice.lobby);
    if (!known || known->matchmaker != found->second.matchmaker) {
        return object(scene, "an event for another matchmaker's lobby", notice.lobby);
    }
    // Of a match that is over no answer will come any more, unless one is on its way in this link's order.
    const bool is_over = notice.event == MatchEventKind::ended || notice.event == MatchEventKind::aborted;
    const bool answer_to_come = (!is_over && slots_.live(notice.lobby)) || verdicts_.awaits(link, notice.lobby);
    const Lobby& lobby = found->second;
    if (!lobby.answered && !lobby.failed && !lobby.recovered && answer_to_come) {
        return object(scene, fmt::format("event {} leaves before the answer", to_string(notice.event)), notice.lobby);
    }
    const auto due = due_.find(notice.lobby);
    const auto latest = latest_.find(notice.lobby);
    const bool came_about_before = (due != due_.end() && due->second == notice.event) ||
                                   (latest != latest_.end() && latest->second == notice.event);  // perhaps told again
    if (!came_about_before) told_.push_back({notice.lobby, notice.event});                       // its event follows
    if (due != due_.end()) due_.erase(due);
}

// Core tells first and publishes then: what was told in this pass is not due any more.
void NoticeJudge::came_about(LobbyId lobby, MatchEventKind kind) {
    latest_[lobby] = kind;
    const auto told = std::find_if(told_.begin(), told_.end(),
                                   [&](const Told& one) { return one.lobby == lobby && one.kind == kind; });
    if (told == told_.end()) {
        owe(lobby, kind);
    } else {
        told_.erase(told);
    }
}

void NoticeJudge::owe(LobbyId lobby, MatchEventKind kind) {
    due_[lobby] = kind;
    const auto known = lobbies_.find(lobby);
    if (known != lobbies_.end() && (known->second.answered || known->second.recovered)) may_leave(known->second, lobby);
}

// What the server before said of it, while its success was not durable yet, is void.
void NoticeJudge::happened(const Scene&, const event::MatchOffered& event) {
    due_.erase(event.lobby);
    latest_.erase(event.lobby);
}

void NoticeJudge::happened(const Scene&, const event::MatchAllocated& event) {
    lobbies_[event.lobby].matchmaker = event.matchmaker;
}

void NoticeJudge::happened(const Scene&, const event::MatchReady& event) {
    came_about(event.lobby, MatchEventKind::ready);
}

void NoticeJudge::happened(const Scene&, const event::MatchStarted& event) {
    came_about(event.lobby, MatchEventKind::started);
}

void NoticeJudge::happened(const Scene&, const event::MatchEnded& event) {
    came_about(event.lobby, MatchEventKind::ended);
}

void NoticeJudge::happened(const Scene& scene, const event::MatchAborted& event) {
    // Who cancels is answered; that is the judge of answers' business.
    if (scene.cause == CancelMatch::code && event.reason == text(Reason::cancelled)) {
        due_.erase(event.lobby);
        latest_[event.lobby] = MatchEventKind::aborted;
        cancelled_.insert(event.lobby);
        return;
    }
    came_about(event.lobby, MatchEventKind::aborted);
}

void NoticeJudge::happened(const Scene&, const event::MatchRefused& event) {
    // Refused at the door: perhaps another matchmaker asked for it.
    if (event.reason == text(Refusal::invalid_match_lobby_id) || event.reason == text(Refusal::server_busy)) return;
    // What its server said of it before it was allocated is void. One that was allocated is not refused: somebody asked
    // for it anew.
    if (!lobbies_.contains(event.lobby)) due_.erase(event.lobby);
}

// Whether what was told on it was read, nobody knows: it is told again.
void NoticeJudge::closed(const Scene& scene, LinkNumber link) {
    const auto told = told_on_.extract(link);
    if (!told) return;
    for (const LobbyId lobby : *told) {
        const Last& last = last_told_[lobby];
        const auto latest = latest_.find(lobby);
        if (last.link != link || latest == latest_.end()) continue;
        if (slots_.live(lobby) || scene.now - last.at < notice_heard_after) owe(lobby, latest->second);
    }
}

void NoticeJudge::durable(Time, const RecordBatch& batch) {
    for (const Record& record : batch.records) {
        if (const auto* match = std::get_if<MatchRecord>(&record)) keep(*match);
        if (const auto* forgotten = std::get_if<MatchForgotten>(&record)) durable_.erase(forgotten->lobby);
        if (const auto* told = std::get_if<EventTold>(&record)) {
            const auto kept = durable_.find(told->lobby);
            if (kept == durable_.end()) continue;
            kept->second.untold_event = 0;
            if (is_over(kept->second.state)) durable_.erase(kept);
        }
    }
}

void NoticeJudge::keep(const MatchRecord& match) {
    if (is_over(match.state) && cancelled_.erase(match.lobby) > 0) {
        // Core may tell it from its next pass on, however long ago the last one was.
        const auto of = may_leave_.find(match.matchmaker);
        if (of != may_leave_.end() && of->second.since.contains(match.lobby)) of->second.since[match.lobby].reset();
    }
    if (is_over(match.state) && match.untold_event == 0) {
        durable_.erase(match.lobby);
    } else {
        durable_[match.lobby] = match;
    }
}

void NoticeJudge::run_began(const Scene&, const Core&) {
    due_.clear();
    may_leave_.clear();
    told_.clear();
    latest_.clear();
    cancelled_.clear();
    last_told_.clear();
    told_on_.clear();
    looked_at_ = Time{};
    lobbies_.erase_if([this](const auto& entry) { return !durable_.contains(entry.first); });
    std::pair<const std::string, Waiting>* of = nullptr;  // the matchmaker of the one before, often the same
    for (const auto& [id, record] : durable_) {
        Lobby& lobby = lobbies_[id];
        lobby.matchmaker = record.matchmaker;
        lobby.failed = false;
        lobby.recovered = true;
        if (record.state < MatchState::ready) continue;
        due_[id] = latest_[id] =
            static_cast<MatchEventKind>(static_cast<int>(record.state) - static_cast<int>(MatchState::ready) +
                                        static_cast<int>(MatchEventKind::ready));
        if (!of || of->first != record.matchmaker) of = &*may_leave_.try_emplace(record.matchmaker).first;
        of->second.since.try_emplace(id);
    }
}

void NoticeJudge::pass_ended(const Scene& scene, const Core&) {
    for (const Told& told : std::exchange(told_, {})) {
        object(scene, fmt::format("event {} that nothing caused", to_string(told.kind)), told.lobby);
    }
    if (may_leave_.empty() || scene.now - looked_at_ < notice_look_every) return;
    looked_at_ = scene.now;
    for (auto& [matchmaker, waiting] : may_leave_) {
        const bool was_there = std::exchange(waiting.there, registry_.matchmaker_link(matchmaker) != 0);
        if (waiting.there) {
            judge_withheld(scene, waiting);
        } else if (was_there) {
            for (auto& [lobby, since] : waiting.since) since.reset();
        }
    }
}

void NoticeJudge::judge_withheld(const Scene& scene, Waiting& waiting) {
    for (auto next = waiting.since.begin(); next != waiting.since.end();) {
        const LobbyId lobby = next->first;
        const auto due = due_.find(lobby);
        if (due == due_.end()) {
            next = waiting.since.erase(next);
            continue;
        }
        std::optional<Time>& since = next->second;
        ++next;
        if (!since || cancelled_.contains(lobby)) since = scene.now;
        if (scene.now - *since > withheld_most) {
            object(scene, fmt::format("event {} is withheld from a matchmaker that is there", to_string(due->second)),
                   lobby);
        }
    }
}

void NoticeJudge::object(const Scene& scene, std::string what, LobbyId lobby) {
    objections_.add({"A-10", std::move(what), lobby, {}, scene.now});
}

}  // namespace muster::sim
