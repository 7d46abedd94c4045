#include "core/match_notices.h"

#include <algorithm>
#include <utility>

namespace muster {

// None for who is not here.
ConnectionId MatchNotices::link_of(AccountId player) const {
    const Sessions& sessions = players_.sessions();
    const Sessions::Place place = sessions.find(player);
    return place != Sessions::none ? sessions.at(place).link : ConnectionId{};
}

void MatchNotices::match_ready(const MatchRecord& match, std::span<const AccountId> accounts) {
    tell_to_come({match.lobby, GameEndpoint{IpText(match.server_ip), match.server_port}, MatchTokenText(match.token)},
                 accounts);
    if (others_)
        others_->write(PlayerNotice{match.lobby, PlayerNotice::Kind::ready, match.server_ip, match.server_port,
                                    match.token, "", std::vector<AccountId>(accounts.begin(), accounts.end())});
}

void MatchNotices::tell_to_come(const PlayerMatchStart& start, std::span<const AccountId> accounts) {
    // Those of an earlier list who are in this one too have been told.
    std::vector<AccountId> told;
    if (const auto known = waiting_.find(start.lobby); known != waiting_.end()) told = known->second.accounts;
    drop(start.lobby);
    Waiting& waiting = waiting_[start.lobby];
    waiting.start = start;
    waiting.accounts.assign(accounts.begin(), accounts.end());
    for (const AccountId account : accounts) {
        lobbies_of_[account].push_back(start.lobby);
        if (std::find(told.begin(), told.end(), account) != told.end()) continue;
        links_.send(link_of(account), waiting.start);
    }
}

void MatchNotices::match_begun_or_over(LobbyId lobby) {
    if (drop(lobby) && others_) others_->write(PlayerNotice{lobby, PlayerNotice::Kind::begun});
}

void MatchNotices::match_fell_through(LobbyId lobby, std::string_view reason, std::span<const AccountId> accounts) {
    const bool was_told_to_come = drop(lobby);
    tell_it_fell_through({lobby, ReasonText::cut(reason)}, accounts);
    if (others_ && (was_told_to_come || !accounts.empty()))
        others_->write(PlayerNotice{lobby, PlayerNotice::Kind::fell_through, "", 0, "",
                                    ReasonText::cut(reason).string(),
                                    std::vector<AccountId>(accounts.begin(), accounts.end())});
}

void MatchNotices::request_refused(LobbyId lobby, std::string_view reason, std::span<const AccountId> accounts) {
    if (!others_ || others_->store_up()) return match_fell_through(lobby, reason, accounts);
    drop(lobby);
    tell_it_fell_through({lobby, ReasonText::cut(reason)}, accounts);
}

void MatchNotices::tell_it_fell_through(const PlayerMatchAborted& notice, std::span<const AccountId> accounts) {
    const LobbyId lobby = notice.lobby;
    for (const AccountId account : accounts) {
        const ConnectionId link = link_of(account);
        if (link.generation != 0) {
            links_.send(link, notice);
        } else if (players_.sessions().find(account) != Sessions::none) {
            // The latest of a lobby: a matchmaker may ask for it over and over.
            std::vector<PlayerMatchAborted>& missed = missed_[account];
            std::erase_if(missed, [lobby](const PlayerMatchAborted& earlier) { return earlier.lobby == lobby; });
            missed.push_back(notice);
        }
    }
}

void MatchNotices::take(const PlayerNotice& notice) {
    // What core cannot have written is nobody's match.
    if (!IpText::fits(notice.server_ip) || !MatchTokenText::fits(notice.token)) return;
    switch (notice.kind) {
        case PlayerNotice::Kind::ready:
            return tell_to_come({notice.lobby, GameEndpoint{IpText(notice.server_ip), notice.server_port},
                                 MatchTokenText(notice.token)},
                                notice.accounts);
        case PlayerNotice::Kind::begun:
            drop(notice.lobby);
            return;
        case PlayerNotice::Kind::fell_through:
            drop(notice.lobby);
            return tell_it_fell_through({notice.lobby, ReasonText::cut(notice.reason)}, notice.accounts);
    }
}

void MatchNotices::player_came(AccountId player) {
    const ConnectionId link = link_of(player);
    if (const auto missed = missed_.find(player); missed != missed_.end()) {
        for (const PlayerMatchAborted& notice : missed->second) links_.send(link, notice);
        missed_.erase(missed);
    }
    if (const auto lobbies = lobbies_of_.find(player); lobbies != lobbies_of_.end()) {
        for (const LobbyId lobby : lobbies->second) links_.send(link, waiting_.at(lobby).start);
    }
}

// It may be back by the time that this is heard.
void MatchNotices::player_left(AccountId player) {
    if (players_.sessions().find(player) == Sessions::none) missed_.erase(player);
}

bool MatchNotices::drop(LobbyId lobby) {
    const auto found = waiting_.find(lobby);
    if (found == waiting_.end()) return false;
    for (const AccountId account : found->second.accounts) {
        const auto lobbies = lobbies_of_.find(account);
        std::erase(lobbies->second, lobby);
        if (lobbies->second.empty()) lobbies_of_.erase(lobbies);
    }
    waiting_.erase(found);
    return true;
}

}  // namespace muster
