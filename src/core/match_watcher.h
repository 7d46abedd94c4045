// What the matches tell those who speak to players.
#pragma once

#include <span>
#include <string_view>

#include "base/ids.h"
#include "core/records.h"

namespace muster {

class MatchWatcher {
public:
    // Its server is ready, or a list of accounts came after that; the accounts of the list.
    virtual void match_ready(const MatchRecord& match, std::span<const AccountId> accounts) = 0;
    // It has started or ended: nobody needs to be told to come.
    virtual void match_begun_or_over(LobbyId lobby) = 0;
    // It was aborted, or no server was found for it.
    virtual void match_fell_through(LobbyId lobby, std::string_view reason, std::span<const AccountId> accounts) = 0;

protected:
    ~MatchWatcher() = default;
};

}  // namespace muster
