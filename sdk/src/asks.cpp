#include "sdk/src/asks.h"

#include <algorithm>

namespace muster::sdk {

Ask& Asks::add(Ask ask) {
    const Serial serial = next_++;
    by_lobby_[{ask.kind, ask.lobby}].push_back(serial);
    if (ask.answer_by) by_expiry_.insert({*ask.answer_by, serial});
    ++counts_[static_cast<std::size_t>(ask.kind)];
    return asks_.emplace(serial, std::move(ask)).first->second;
}

std::optional<Ask> Asks::take(Ask::Kind kind, LobbyId lobby) {
    const auto found = by_lobby_.find({kind, lobby});
    if (found == by_lobby_.end()) return std::nullopt;
    return remove(found->second.front());
}

std::vector<Ask> Asks::take_expired(Time now) {
    std::vector<Ask> expired;
    while (!by_expiry_.empty() && by_expiry_.begin()->first <= now)
        expired.push_back(remove(by_expiry_.begin()->second));
    return expired;
}

std::vector<Ask> Asks::take_all() {
    std::vector<Ask> all;
    while (!asks_.empty()) all.push_back(remove(asks_.begin()->first));
    return all;
}

std::optional<Time> Asks::next_expiry() const {
    if (by_expiry_.empty()) return std::nullopt;
    return by_expiry_.begin()->first;
}

void Asks::postpone(Duration by) {
    by_expiry_.clear();
    for (auto& [serial, ask] : asks_) {
        if (!ask.answer_by) continue;
        *ask.answer_by += by;
        by_expiry_.insert({*ask.answer_by, serial});
    }
}

Ask Asks::remove(Serial serial) {
    const auto found = asks_.find(serial);
    Ask ask = std::move(found->second);
    asks_.erase(found);
    --counts_[static_cast<std::size_t>(ask.kind)];
    if (ask.answer_by) by_expiry_.erase({*ask.answer_by, serial});

    const auto same_lobby = by_lobby_.find({ask.kind, ask.lobby});
    std::erase(same_lobby->second, serial);
    if (same_lobby->second.empty()) by_lobby_.erase(same_lobby);
    return ask;
}

}  // namespace muster::sdk
