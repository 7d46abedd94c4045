#include "http/over_matches.h"

#include <algorithm>
#include <variant>

namespace muster {

void OverMatches::note(const Record& record) {
    const std::lock_guard lock(mutex_);
    if (const auto* used = std::get_if<TokenUsed>(&record)) use(*used);
    if (const auto* released = std::get_if<TokenReleased>(&record)) release(*released);
    if (const auto* match = std::get_if<MatchRecord>(&record)) over(*match);
    if (const auto* forgotten = std::get_if<MatchForgotten>(&record)) tokens_used_.erase(forgotten->lobby);
}

void OverMatches::use(const TokenUsed& used) {
    std::vector<AccountId>& accounts = tokens_used_[used.lobby];
    if (std::find(accounts.begin(), accounts.end(), used.account) == accounts.end()) accounts.push_back(used.account);
}

// A use that never became durable may be released, too.
void OverMatches::release(const TokenReleased& released) {
    const auto used = tokens_used_.find(released.lobby);
    if (used != tokens_used_.end()) std::erase(used->second, released.account);
}

void OverMatches::over(const MatchRecord& record) {
    if (record.state != MatchState::ended && record.state != MatchState::aborted) return;
    // The same end is written again when its matchmaker has been told of it.
    if (rows_.contains(record.lobby)) return;
    const auto used = tokens_used_.find(record.lobby);
    const auto count = used == tokens_used_.end() ? 0 : static_cast<std::int32_t>(used->second.size());
    if (used != tokens_used_.end()) tokens_used_.erase(used);
    rows_.emplace(record.lobby, std::make_shared<const MatchRow>(match_row_of(record, count)));
    order_.push_back(record.lobby);
    if (order_.size() <= capacity) return;
    rows_.erase(order_.front());
    order_.pop_front();
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
