// Tells players about the matches they are listed for.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/ids.h"
#include "core/link_table.h"
#include "core/match_watcher.h"
#include "core/players.h"
#include "protocol/player_messages.h"

namespace muster {

// Game thread only. Links and players outlive it.
class MatchNotices final : public MatchWatcher {
public:
    MatchNotices(LinkTable& links, const Players& players) : links_(links), players_(players) {}

    void match_ready(const MatchRecord& match, std::span<const AccountId> accounts) override;
    void match_begun_or_over(LobbyId lobby) override;
    void match_fell_through(LobbyId lobby, std::string_view reason, std::span<const AccountId> accounts) override;

    // It has logged in or resumed: what waits for it.
    void player_came(AccountId player);
    void player_left(AccountId player);

private:
    struct Waiting {
        PlayerMatchStart start;
        std::vector<AccountId> accounts;
    };

    ConnectionId link_of(AccountId player) const;
    void drop(LobbyId lobby);

    LinkTable& links_;
    const Players& players_;
    std::map<LobbyId, Waiting> waiting_;  // ready, and not started
    boost::unordered_flat_map<AccountId, std::vector<LobbyId>, std::hash<AccountId>> lobbies_of_;
    // What a player in its grace could not be told.
    boost::unordered_flat_map<AccountId, std::vector<PlayerMatchAborted>, std::hash<AccountId>> missed_;
};

}  // namespace muster
