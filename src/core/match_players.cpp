// Which accounts may play a lobby: named by its matchmaker, before or after its request (0x2008).
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/matches.h"

namespace muster {
namespace {

MatchPlayersResponse refused(LobbyId lobby, Refusal why) {
    return {LobbyRefused{lobby, ErrorText(text(why))}};
}

}  // namespace

void Matches::players(const Pass& pass, const ReplyTo& reply_to, const Matchmaker& from, const MatchPlayers& list) {
    const LobbyId lobby = list.lobby;
    if (const auto known = lists_.find(lobby); known != lists_.end()) known->second.mentioned = pass.now;
    if (const auto why = list_refusal(from, lobby)) return replies_.answer(reply_to, refused(lobby, *why));

    std::vector<AccountId> accounts = list.accounts.items;
    std::sort(accounts.begin(), accounts.end());
    accounts.erase(std::unique(accounts.begin(), accounts.end()), accounts.end());
    const TimerId limit = after(TimeBase::real, limit_delay(), [this, lobby](const Pass&) { lists_too_late(lobby); });

    const std::uint64_t serial = next_serial_++;
    ledger_.write_promised(PlayersRecord{lobby, from.id, accounts},
                           [this, lobby, serial](bool durable) { list_settled(lobby, serial, durable); });
    PlayerList& known = lists_[lobby];
    known.matchmaker = from.id;
    known.mentioned = pass.now;
    known.in_flight.push_back({serial, reply_to, std::move(accounts), limit});
}

std::optional<Refusal> Matches::list_refusal(const Matchmaker& from, LobbyId lobby) const {
    const Match* match = find(lobby);
    const auto known = lists_.find(lobby);
    const bool anothers = (match && match->record.matchmaker != from.id) ||
                          (known != lists_.end() && known->second.matchmaker != from.id);
    if (shutting_down_) return Refusal::server_shutting_down;
    if (lobby.value <= 0 || anothers || over_.find(lobby)) return Refusal::invalid_match_lobby_id;
    const bool full = known == lists_.end() ? lists_.size() >= lists_max : known->second.in_flight.size() >= asks_max;
    if (full || ledger_.congested()) return Refusal::server_busy;
    if (!ledger_.store_up()) return Refusal::store_unavailable;
    return std::nullopt;
}

// A list counts from the moment it is durable; one that the disk does not take leaves the one before it as it is.
void Matches::list_settled(LobbyId lobby, std::uint64_t serial, bool durable) {
    const auto known = lists_.find(lobby);
    if (known == lists_.end()) return;
    auto& in_flight = known->second.in_flight;
    const auto found = std::find_if(in_flight.begin(), in_flight.end(),
                                    [serial](const PlayerList::InFlight& list) { return list.serial == serial; });
    if (found == in_flight.end()) return;  // was too late, and is taken back
    PlayerList::InFlight settled = std::move(*found);
    in_flight.erase(found);
    timers_.cancel(settled.limit);
    if (durable && !over_.find(lobby)) {
        known->second.accounts = std::move(settled.accounts);
        if (const Match* match = find(lobby)) tell_players_to_come(*match);
    }
    forget_if_void(lobby);
    replies_.answer(settled.reply_to,
                    durable ? MatchPlayersResponse{LobbyAccepted{lobby}} : refused(lobby, Refusal::store_unavailable));
}

// A list waits for the disk for a request's time at most. Younger lists of the lobby fall with the oldest: then
// one record, written after all of them, says what counts.
void Matches::lists_too_late(LobbyId lobby) {
    const auto known = lists_.find(lobby);
    MUSTER_CHECK(known != lists_.end() && !known->second.in_flight.empty(), "a settled list's timer is cancelled");
    PlayerList& list = known->second;
    const auto fallen = std::exchange(list.in_flight, {});
    if (list.accounts) {
        ledger_.write(PlayersRecord{lobby, list.matchmaker, *list.accounts});
    } else {
        ledger_.write(PlayersForgotten{lobby});
    }
    forget_if_void(lobby);
    for (const PlayerList::InFlight& one : fallen) timers_.cancel(one.limit);
    for (const PlayerList::InFlight& one : fallen)
        replies_.answer(one.reply_to, refused(lobby, Refusal::store_unavailable));
}

// The lobby's match is over. Lists in flight still get their answer.
void Matches::end_list(LobbyId lobby) {
    const auto known = lists_.find(lobby);
    if (known == lists_.end()) return;
    known->second.accounts.reset();
    forget_if_void(lobby);
}

void Matches::forget_if_void(LobbyId lobby) {
    const auto known = lists_.find(lobby);
    if (!known->second.accounts && known->second.in_flight.empty()) lists_.erase(known);
}

const std::vector<AccountId>* Matches::accounts(LobbyId lobby) const {
    const auto known = lists_.find(lobby);
    return known == lists_.end() || !known->second.accounts ? nullptr : &*known->second.accounts;
}

}  // namespace muster
