#include "sim/token_judge.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration token_life = 120s;
constexpr Duration list_life = 1h;  // after the last word of a lobby without a match

bool is_on(const std::vector<AccountId>& accounts, AccountId account) {
    return std::find(accounts.begin(), accounts.end(), account) != accounts.end();
}

}  // namespace

TokenQuestion TokenJudge::ask(const Scene& scene, LinkNumber link, const ValidateToken& request) {
    TokenQuestion question{request.lobby, request.account, request.token.string(), 0, {}, false, false};
    if (const SeenLobby* lobby = slots_.lobby(request.lobby)) question.player_count = lobby->player_count;
    question.forbidden = forbidden(scene, link, request);
    const bool listed = !lists_.contains(request.lobby) ||
                        (lists_[request.lobby].pending.empty() && may_be_listed(request.lobby, request.account));
    // Those who asked before and wait for their answer may be let in first.
    question.plain = question.forbidden.empty() && listed &&
                     used_[question.token].size() + static_cast<std::size_t>(unanswered_[question.token]) <
                         static_cast<std::size_t>(question.player_count);
    const SeenLobby* lobby = slots_.lobby(request.lobby);
    question.unused = question.forbidden.empty() && lobby && !lobby->recovered && unanswered_[question.token] == 0 &&
                      !used_[question.token].contains(question.account) &&
                      used_[question.token].size() < static_cast<std::size_t>(question.player_count);
    ++unanswered_[question.token];
    return question;
}

// K-2. Whether the account was let in before is judged by the answers.
std::string TokenJudge::forbidden(const Scene& scene, LinkNumber link, const ValidateToken& request) const {
    const KnownServer* server = registry_.speaker(link);
    if (!server || server->id != request.server) return "from a link that does not hold that server's id";
    const SeenLobby* lobby = slots_.lobby(request.lobby);
    const SeenOffer* held = lobby ? lobby->held() : nullptr;
    if (!held) return "without a match that a server has acknowledged";
    if (held->token != request.token.view()) return "with another text";
    if (held->server != server->id) return "on another server";
    const auto life_began = began(*lobby, held->token);
    if (!life_began) return "that nobody acknowledged";
    if (const Duration age = scene.now - *life_began; age >= token_life) {
        return fmt::format("{:.3f} s after the acknowledgement", to_seconds(age));
    }
    if (started_.contains(request.lobby)) return "after the match started";
    if (!may_be_listed(request.lobby, request.account)) return "for an account that is not on the list";
    return {};
}

// A server whose acknowledgement was never heard may speak of its match after a restart.
std::optional<Time> TokenJudge::began(const SeenLobby& lobby, const std::string& token) const {
    if (const auto found = acknowledged_.find(token); found != acknowledged_.end()) return found->second;
    const auto offered = offered_.find(token);
    return lobby.recovered && offered != offered_.end() ? std::optional(offered->second) : std::nullopt;
}

bool TokenJudge::may_be_listed(LobbyId lobby, AccountId account) const {
    const auto lists = lists_.find(lobby);
    if (lists == lists_.end() || !lists->second.accepted || lists->second.lapsed) return true;
    if (is_on(*lists->second.accepted, account)) return true;
    return std::any_of(lists->second.pending.begin(), lists->second.pending.end(),
                       [&](const auto& pending) { return is_on(pending, account); });
}

void TokenJudge::answered(const Scene& scene, const TokenQuestion& question, bool accepted, std::string_view error) {
    --unanswered_[question.token];
    if (!accepted) {
        ++refused_count_;
        if (question.unused && error == text(Refusal::match_token_already_used))
            return object(scene, "called used although nobody was let in with it", question);
        if (nothing_goes_wrong_ && question.plain && !used_[question.token].contains(question.account)) {
            object(scene, fmt::format("refused although nothing speaks against it: {}", error), question);
        }
        return;
    }
    ++accepted_count_;
    if (!question.forbidden.empty()) return object(scene, "accepted " + question.forbidden, question);
    std::set<AccountId>& used = used_[question.token];
    if (!used.insert(question.account).second) return object(scene, "accepted twice for one account", question);
    if (used.size() > static_cast<std::size_t>(question.player_count)) {
        return object(scene, "accepted for more accounts than the match has players", question);
    }
    if (!slots_.live(question.lobby)) object(scene, "accepted after the match was over", question);
}

bool TokenJudge::is_heeded(LinkNumber link) const {
    const KnownLink* known = registry_.link(link);
    return known && known->greeted && !known->closing;
}

void TokenJudge::list_asked(LinkNumber link, const MatchPlayers& list) {
    if (!is_heeded(link)) return;
    lists_[list.lobby].pending.push_back(list.accounts.items);
}

void TokenJudge::list_answered(const Scene&, LobbyId lobby, const std::vector<AccountId>& accounts, bool accepted) {
    const auto found = lists_.find(lobby);
    if (found == lists_.end()) return;
    auto& pending = found->second.pending;
    const auto asked = std::find(pending.begin(), pending.end(), accounts);
    if (asked != pending.end()) pending.erase(asked);
    if (accepted) found->second = {accounts, std::move(pending), false};
    if (!found->second.accepted && found->second.pending.empty()) lists_.erase(found);
}

void TokenJudge::said(const Scene& scene, LinkNumber, const AllocateMatch& offer) {
    offered_.try_emplace(offer.token.string(), scene.now);
}

// A token's life begins with its acknowledgement, and no restart prolongs it.
void TokenJudge::heard(const Scene&, LinkNumber, const AllocateMatchAck& ack) {
    const SeenLobby* lobby = slots_.lobby(ack.lobby);
    const SeenOffer* held = lobby ? lobby->held() : nullptr;
    if (held && held->held_since != Time{}) acknowledged_.try_emplace(held->token, held->held_since);
}

void TokenJudge::heard(const Scene& scene, LinkNumber link, const AllocationRequest& request) {
    if (is_heeded(link)) mentioned(scene, request.lobby);
}

void TokenJudge::heard(const Scene& scene, LinkNumber link, const MatchPlayers& list) {
    if (is_heeded(link)) mentioned(scene, list.lobby);
}

// After so long a silence the list may be forgotten already, although the disk does not know it yet.
void TokenJudge::mentioned(const Scene& scene, LobbyId lobby) {
    const auto last = mentioned_.try_emplace(lobby, scene.now).first;
    const auto lists = lists_.find(lobby);
    if (lists != lists_.end() && scene.now - last->second > list_life) lists->second.lapsed = true;
    last->second = scene.now;
}

void TokenJudge::durable(Time now, const RecordBatch& batch) {
    for (const Record& record : batch.records) {
        const auto* forgotten = std::get_if<PlayersForgotten>(&record);
        const auto lists = forgotten ? lists_.find(forgotten->lobby) : lists_.end();
        if (lists == lists_.end() || !lists->second.accepted) continue;
        if (!lists->second.lapsed && now - mentioned_[forgotten->lobby] < list_life)
            return objections_.add({"K-2", "a list is forgotten that counts", forgotten->lobby, {}, now});
        lists->second.accepted.reset();
        if (lists->second.pending.empty()) lists_.erase(lists);
    }
}

// Another server will have it: what the one before said of it is void.
void TokenJudge::happened(const Scene&, const event::MatchOffered& event) {
    started_.erase(event.lobby);
}

void TokenJudge::happened(const Scene&, const event::MatchStarted& event) {
    started_.insert(event.lobby);
}

void TokenJudge::happened(const Scene&, const event::MatchEnded& event) {
    lists_.erase(event.lobby);
}

void TokenJudge::happened(const Scene&, const event::MatchAborted& event) {
    lists_.erase(event.lobby);
}

// The lobby may be asked for again, with a token of its own.
void TokenJudge::happened(const Scene&, const event::MatchRefused& event) {
    if (!slots_.live(event.lobby)) started_.erase(event.lobby);
}

// A start that was not durable is forgotten, and so are lists that were not answered.
void TokenJudge::run_began(const Scene&, const Core& core) {
    std::erase_if(started_, [&](LobbyId lobby) {
        const Match* match = core.matches().find(lobby);
        return !match || match->record.state != MatchState::started;
    });
    for (auto& [lobby, lists] : lists_) {
        if (const auto* accounts = core.matches().lists().accounts(lobby)) lists.pending.push_back(*accounts);
    }
}

void TokenJudge::object(const Scene& scene, std::string what, const TokenQuestion& question) {
    objections_.add({"invariant 8", std::move(what), question.lobby, {}, scene.now});
}

}  // namespace muster::sim
