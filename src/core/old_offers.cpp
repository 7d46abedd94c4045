#include "core/old_offers.h"

#include <algorithm>

#include "base/planted.h"

namespace muster {

void OldOffers::add(ServerId server, LobbyId lobby) {
    std::deque<LobbyId>& lobbies = by_server_[server];
    if (std::find(lobbies.begin(), lobbies.end(), lobby) != lobbies.end()) return;
    if (lobbies.size() == of_server_max && !planted(Bug::old_offers_pile_up)) {
        forget_one(lobbies.front(), server);
        lobbies.pop_front();
    }
    lobbies.push_back(lobby);
    by_lobby_[lobby].push_back(server);
}

bool OldOffers::answered(ServerId server, LobbyId lobby) {
    const auto found = by_server_.find(server);
    if (found == by_server_.end() || std::erase(found->second, lobby) == 0) return false;
    if (found->second.empty()) by_server_.erase(found);
    forget_one(lobby, server);
    return true;
}

void OldOffers::forget(ServerId server) {
    const auto owed = by_server_.extract(server);
    if (owed.empty()) return;
    for (const LobbyId lobby : owed.mapped()) forget_one(lobby, server);
}

std::span<const ServerId> OldOffers::owed_for(LobbyId lobby) const {
    const auto found = by_lobby_.find(lobby);
    return found == by_lobby_.end() ? std::span<const ServerId>{} : found->second;
}

std::size_t OldOffers::size() const {
    std::size_t count = 0;
    for (const auto& [server, lobbies] : by_server_) count += lobbies.size();
    return count;
}

void OldOffers::forget_one(LobbyId lobby, ServerId server) {
    const auto found = by_lobby_.find(lobby);
    std::erase(found->second, server);
    if (found->second.empty()) by_lobby_.erase(found);
}

}  // namespace muster
