#include "http/over_matches.h"

#include <algorithm>
#include <variant>

namespace muster {

void OverMatches::note(const Record& record, UnixMs at) {
    const std::lock_guard lock(mutex_);
    if (const auto* used = std::get_if<TokenUsed>(&record)) use(*used, at);
    if (const auto* released = std::get_if<TokenReleased>(&record)) release(*released);
    if (const auto* match = std::get_if<MatchRecord>(&record)) over(*match);
    if (const auto* forgotten = std::get_if<MatchForgotten>(&record)) {
        everybody_left(forgotten->lobby);
        joined_.erase(forgotten->lobby);
    }
}

void OverMatches::use(const TokenUsed& used, UnixMs at) {
    std::vector<Joined>& joined = joined_[used.lobby];
    const auto same = [&used](const Joined& one) { return one.account == used.account; };
    if (std::none_of(joined.begin(), joined.end(), same)) joined.push_back({used.account, at});
    lobby_of_[used.account] = used.lobby;
}

// A use that never became durable may be released, too.
void OverMatches::release(const TokenReleased& released) {
    const auto joined = joined_.find(released.lobby);
    if (joined == joined_.end()) return;
    std::erase_if(joined->second, [&released](const Joined& one) { return one.account == released.account; });
    no_longer_in(released.lobby, released.account);
}

void OverMatches::over(const MatchRecord& record) {
    if (record.state != MatchState::ended && record.state != MatchState::aborted) return;
    // The same end is written again when its matchmaker has been told of it.
    if (rows_.contains(record.lobby)) return;
    const auto joined = joined_.find(record.lobby);
    const auto count = joined == joined_.end() ? 0 : static_cast<std::int32_t>(joined->second.size());
    everybody_left(record.lobby);
    rows_.emplace(record.lobby, std::make_shared<const MatchRow>(match_row_of(record, count)));
    order_.push_back(record.lobby);
    if (order_.size() <= capacity) return;
    rows_.erase(order_.front());
    joined_.erase(order_.front());
    order_.pop_front();
}

// It may be in another one by now.
void OverMatches::no_longer_in(LobbyId lobby, AccountId account) {
    const auto found = lobby_of_.find(account);
    if (found != lobby_of_.end() && found->second == lobby) lobby_of_.erase(found);
}

void OverMatches::everybody_left(LobbyId lobby) {
    const auto joined = joined_.find(lobby);
    if (joined == joined_.end()) return;
    for (const Joined& one : joined->second) no_longer_in(lobby, one.account);
}

std::vector<OverMatches::Joined> OverMatches::joined(LobbyId lobby) const {
    const std::lock_guard lock(mutex_);
    const auto found = joined_.find(lobby);
    return found == joined_.end() ? std::vector<Joined>() : found->second;
}

LobbyId OverMatches::lobby_of(AccountId account) const {
    const std::lock_guard lock(mutex_);
    const auto found = lobby_of_.find(account);
    return found == lobby_of_.end() ? LobbyId() : found->second;
}

std::vector<OverMatches::Row> OverMatches::all() const {
    const std::lock_guard lock(mutex_);
    std::vector<Row> rows;
    rows.reserve(rows_.size());
    for (const auto& [lobby, row] : rows_) rows.push_back(row);
    return rows;
}

OverMatches::Row OverMatches::find(LobbyId lobby) const {
    const std::lock_guard lock(mutex_);
    const auto found = rows_.find(lobby);
    return found == rows_.end() ? nullptr : found->second;
}

}  // namespace muster
