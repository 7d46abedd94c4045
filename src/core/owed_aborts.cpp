#include "core/owed_aborts.h"

#include <utility>

namespace muster {

void OwedAborts::recover(std::span<const AbortOwed> owed) {
    for (const AbortOwed& one : owed) note({one.ip, one.port}, one.lobby);
}

void OwedAborts::add(const Endpoint& endpoint, LobbyId lobby) {
    if (!note(endpoint, lobby)) return;
    ledger_.write(AbortOwed{endpoint.ip, endpoint.port, lobby});
    while (size_ > lobbies_max) {
        const Endpoint oldest = by_age_.begin()->second;
        dropped_ += forget(oldest).size();
        ledger_.write(AbortsTold{oldest.ip, oldest.port});
    }
}

std::vector<LobbyId> OwedAborts::take(const Endpoint& endpoint) {
    const std::set<LobbyId> lobbies = forget(endpoint);
    if (!lobbies.empty()) ledger_.write(AbortsTold{endpoint.ip, endpoint.port});
    return {lobbies.begin(), lobbies.end()};
}

// False when it is owed already.
bool OwedAborts::note(const Endpoint& endpoint, LobbyId lobby) {
    Owed& owed = by_endpoint_[endpoint];
    if (owed.number == 0) {
        owed.number = next_number_++;
        by_age_[owed.number] = endpoint;
    }
    const bool fresh = owed.lobbies.insert(lobby).second;
    if (fresh) ++size_;
    return fresh;
}

std::set<LobbyId> OwedAborts::forget(const Endpoint& endpoint) {
    auto owed = by_endpoint_.extract(endpoint);
    if (owed.empty()) return {};
    by_age_.erase(owed.mapped().number);
    size_ -= owed.mapped().lobbies.size();
    return std::move(owed.mapped().lobbies);
}

}  // namespace muster
