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
#include "core/ledger.h"
#include "core/link_table.h"
#include "core/players.h"
#include "core/records.h"
#include "protocol/player_messages.h"

namespace muster {

// Game thread only. What it is given outlives it.
class MatchNotices {
public:
    // `others` takes what players in other cells are to hear; null: there are no others with players.
    MatchNotices(LinkTable& links, const Players& players, Ledger* others = nullptr)
        : links_(links), players_(players), others_(others) {}

    // Its server is ready, or a list of accounts came after that; the accounts of the list.
    void match_ready(const MatchRecord& match, std::span<const AccountId> accounts);
    // It has started or ended: nobody needs to be told to come.
    void match_begun_or_over(LobbyId lobby);
    // It was aborted, or no server was found for it.
    void match_fell_through(LobbyId lobby, std::string_view reason, std::span<const AccountId> accounts);
    // It was not even tried. A matchmaker may ask over and over, so other cells hear of it only while the store takes
    // records: what waits for a full disk stays bounded (fault 4).
    void request_refused(LobbyId lobby, std::string_view reason, std::span<const AccountId> accounts);

    // What another cell says of its match. The same again tells nobody twice.
    void take(const PlayerNotice& notice);

    // It has logged in or resumed: what waits for it.
    void player_came(AccountId player);
    void player_left(AccountId player);

private:
    struct Waiting {
        PlayerMatchStart start;
        std::vector<AccountId> accounts;
    };

    ConnectionId link_of(AccountId player) const;
    void tell_to_come(const PlayerMatchStart& start, std::span<const AccountId> accounts);
    void tell_it_fell_through(const PlayerMatchAborted& notice, std::span<const AccountId> accounts);
    // False when nobody waits for it.
    bool drop(LobbyId lobby);

    LinkTable& links_;
    const Players& players_;
    Ledger* const others_;
    std::map<LobbyId, Waiting> waiting_;  // ready, and not started
    boost::unordered_flat_map<AccountId, std::vector<LobbyId>, std::hash<AccountId>> lobbies_of_;
    // What a player in its grace could not be told.
    boost::unordered_flat_map<AccountId, std::vector<PlayerMatchAborted>, std::hash<AccountId>> missed_;
};

}  // namespace muster
