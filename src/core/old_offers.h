// Withdrawn offers that their servers have not answered yet. Such a server is not offered the lobby again, because its
// late answer could be mistaken for the answer to the new offer.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace muster {

// Game thread only.
class OldOffers {
public:
    // Of one server the latest so many are remembered: one that never answers costs no more.
    static constexpr std::size_t of_server_max = 256;

    void add(ServerId server, LobbyId lobby);
    // It has answered, late. False when it owed no answer.
    bool answered(ServerId server, LobbyId lobby);
    // It registered anew, or is gone: whatever it owed is void (F-9).
    void forget(ServerId server);

    // Who still owes an answer for the lobby.
    std::span<const ServerId> owed_for(LobbyId lobby) const;
    std::size_t size() const;

private:
    void forget_one(LobbyId lobby, ServerId server);

    std::unordered_map<ServerId, std::deque<LobbyId>> by_server_;  // oldest first
    std::unordered_map<LobbyId, std::vector<ServerId>> by_lobby_;
};

}  // namespace muster
