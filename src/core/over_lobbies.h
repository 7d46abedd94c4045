// Lobbies whose match is over: remembered, so that their number is not used again.
#pragma once

#include <cstddef>
#include <deque>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/ids.h"
#include "base/time.h"
#include "core/records.h"

namespace muster {

// Game thread only.
class OverLobbies {
public:
    struct Over {
        UnixMs at;
        ServerId server;
        MatchState how = MatchState::ended;
    };

    void add(LobbyId lobby, const Over& over) {
        lobbies_[lobby] = over;
        by_age_.push_back({lobby, over.at});
    }
    // Null when the lobby's match is not over, or so long ago that nobody remembers.
    const Over* find(LobbyId lobby) const {
        const auto found = lobbies_.find(lobby);
        return found == lobbies_.end() ? nullptr : &found->second;
    }
    // Forgets what was over before `then`, a bounded number at a time.
    void forget_before(UnixMs then) {
        for (std::size_t i = 0; i < forget_at_once && !by_age_.empty() && by_age_.front().at < then; ++i) {
            const auto found = lobbies_.find(by_age_.front().lobby);
            if (found != lobbies_.end() && found->second.at == by_age_.front().at) lobbies_.erase(found);
            by_age_.pop_front();
        }
    }
    std::size_t size() const { return lobbies_.size(); }

private:
    struct Age {
        LobbyId lobby;
        UnixMs at;
    };
    static constexpr std::size_t forget_at_once = 10'000;

    boost::unordered_flat_map<LobbyId, Over, std::hash<LobbyId>> lobbies_;
    std::deque<Age> by_age_;
};

}  // namespace muster
