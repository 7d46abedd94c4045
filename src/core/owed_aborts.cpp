#include "core/owed_aborts.h"

#include <algorithm>
#include <utility>

namespace muster {

void OwedAborts::recover(std::span<const AbortOwed> owed) {
    for (const AbortOwed& one : owed) note({one.ip, one.port}, one.lobby, false);
}

void OwedAborts::add(const Endpoint& endpoint, LobbyId lobby, bool told) {
    if (!note(endpoint, lobby, told)) return;
    ledger_.write(AbortOwed{endpoint.ip, endpoint.port, lobby});
    while (size_ > lobbies_max) {
        const Endpoint oldest = by_age_.begin()->second;
        for (const auto& [dropped, abort] : forget(oldest)) dropped_ += abort.told ? 0 : 1;
        ledger_.write(AbortsTold{oldest.ip, oldest.port});
    }
}

std::vector<LobbyId> OwedAborts::tell(const Endpoint& endpoint) {
    std::vector<LobbyId> lobbies;
    const auto owed = by_endpoint_.find(endpoint);
    if (owed == by_endpoint_.end()) return lobbies;
    lobbies.reserve(owed->second.lobbies.size());
    for (auto& [lobby, abort] : owed->second.lobbies) {
        abort = {.told = true, .told_to = 0};
        lobbies.push_back(lobby);
    }
    return lobbies;
}

void OwedAborts::settle(const Endpoint& endpoint, LobbyId lobby) {
    const auto owed = by_endpoint_.find(endpoint);
    if (owed == by_endpoint_.end() || owed->second.lobbies.erase(lobby) == 0) return;
    --size_;
    ledger_.write(AbortSettled{endpoint.ip, endpoint.port, lobby});
    if (owed->second.lobbies.empty()) forget(endpoint);
}

std::vector<Endpoint> OwedAborts::endpoints() const {
    std::vector<Endpoint> endpoints;
    endpoints.reserve(by_age_.size());
    for (const auto& [number, endpoint] : by_age_) endpoints.push_back(endpoint);
    return endpoints;
}

void OwedAborts::settle_heard(const Endpoint& endpoint, std::int64_t registration) {
    const auto found = by_endpoint_.find(endpoint);
    if (found == by_endpoint_.end()) return;
    std::map<LobbyId, Abort>& lobbies = found->second.lobbies;
    const auto heard = [registration](const auto& one) {
        return one.second.told && registration != 0 && one.second.told_to == registration;
    };
    if (std::ranges::all_of(lobbies, heard)) {
        forget(endpoint);
        return ledger_.write(AbortsTold{endpoint.ip, endpoint.port});
    }
    for (auto one = lobbies.begin(); one != lobbies.end();) {
        if (!heard(*one)) {
            (one++)->second.told_to = registration;
            continue;
        }
        ledger_.write(AbortSettled{endpoint.ip, endpoint.port, one->first});
        one = lobbies.erase(one);
        --size_;
    }
}

// False when it is owed already.
bool OwedAborts::note(const Endpoint& endpoint, LobbyId lobby, bool told) {
    Owed& owed = by_endpoint_[endpoint];
    if (owed.number == 0) {
        owed.number = next_number_++;
        by_age_[owed.number] = endpoint;
    }
    const auto [abort, fresh] = owed.lobbies.insert_or_assign(lobby, Abort{.told = told, .told_to = 0});
    if (fresh) ++size_;
    return fresh;
}

std::map<LobbyId, OwedAborts::Abort> OwedAborts::forget(const Endpoint& endpoint) {
    auto owed = by_endpoint_.extract(endpoint);
    if (owed.empty()) return {};
    by_age_.erase(owed.mapped().number);
    size_ -= owed.mapped().lobbies.size();
    return std::move(owed.mapped().lobbies);
}

}  // namespace muster
