#include "sdk/src/match_table.h"

#include <algorithm>
#include <utility>

namespace muster::sdk {

HeldMatch* MatchTable::find(LobbyId lobby) {
    const auto found = matches_.find(lobby);
    return found == matches_.end() ? nullptr : &found->second;
}

const HeldMatch* MatchTable::find(LobbyId lobby) const {
    const auto found = matches_.find(lobby);
    return found == matches_.end() ? nullptr : &found->second;
}

void MatchTable::offer(LobbyId lobby, std::string token, Time answer_by) {
    erase(lobby);
    ended_.erase(lobby);
    matches_[lobby] = {.token = std::move(token), .answer_by = answer_by};
    ++offers_;
}

void MatchTable::accept(LobbyId lobby) {
    HeldMatch* match = find(lobby);
    if (!match || match->stage != Stage::offered) return;
    match->stage = Stage::accepted;
    --offers_;
}

void MatchTable::erase(LobbyId lobby) {
    const auto found = matches_.find(lobby);
    if (found == matches_.end()) return;
    if (found->second.stage == Stage::offered) --offers_;
    matches_.erase(found);
}

std::vector<LobbyId> MatchTable::give_up() {
    std::vector<LobbyId> open = offers();
    matches_.clear();
    offers_ = 0;
    return open;
}

void MatchTable::clear() {
    matches_.clear();
    offers_ = 0;
    ended_.clear();
    in_flight_.clear();
}

void MatchTable::end(LobbyId lobby) {
    erase(lobby);
    ended_.insert(lobby);
}

std::optional<MatchTable::Report> MatchTable::answered(LobbyId lobby) {
    const auto first = std::ranges::find(in_flight_, lobby, &InFlight::lobby);
    if (first == in_flight_.end()) return std::nullopt;
    const Report report = first->report;
    in_flight_.erase(first);
    return report;
}

std::vector<LobbyId> MatchTable::link_lost() {
    in_flight_.clear();
    const std::vector<LobbyId> lost = offers();
    for (const LobbyId lobby : lost) erase(lobby);
    for (auto& [lobby, match] : matches_) {
        if (match.stage == Stage::ready) match.told = false;
    }
    return lost;
}

std::vector<LobbyId> MatchTable::offers_expired(Time now) const {
    std::vector<LobbyId> expired = offers();
    std::erase_if(expired, [&](LobbyId lobby) { return find(lobby)->answer_by > now; });
    return expired;
}

std::optional<Time> MatchTable::next_expiry() const {
    std::optional<Time> next;
    for (const LobbyId lobby : offers()) {
        const Time by = find(lobby)->answer_by;
        next = next ? std::min(*next, by) : by;
    }
    return next;
}

std::vector<LobbyId> MatchTable::offers() const {
    std::vector<LobbyId> found;
    if (offers_ == 0) return found;
    for (const auto& [lobby, match] : matches_) {
        if (match.stage == Stage::offered) found.push_back(lobby);
    }
    return found;
}

}  // namespace muster::sdk
