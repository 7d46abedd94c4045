#include "core/player_lists.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace muster {
namespace {

// In order, each once.
std::vector<AccountId> distinct(std::vector<AccountId> accounts) {
    std::sort(accounts.begin(), accounts.end());
    accounts.erase(std::unique(accounts.begin(), accounts.end()), accounts.end());
    return accounts;
}

}  // namespace

void PlayerLists::recover(const Pass& pass, std::span<const PlayersRecord> lists) {
    for (const PlayersRecord& list : lists) {
        const auto [place, is_new] = lists_.try_emplace(list.lobby);
        if (!is_new) shares_.end(place->second.matchmaker);
        place->second = PlayerList{list.matchmaker, distinct(list.accounts), {}, pass.now};
        shares_.begin(list.matchmaker);
    }
}

void PlayerLists::set(const Pass& pass, const ReplyTo& reply_to, const std::string& matchmaker,
                      const MatchPlayers& list, Duration limit) {
    const LobbyId lobby = list.lobby;
    mention(pass, lobby);
    if (const auto why = refusal(lobby, matchmaker)) return parts_.replies.answer_list(reply_to, lobby, Failure(*why));

    std::vector<AccountId> accounts = distinct(list.accounts.items);
    const TimerId timer = parts_.timers.start({.first_delay = limit, .base = TimeBase::real},
                                              [this, lobby](const TimerFired&) { too_late(lobby); });

    const std::uint64_t number = next_number_++;
    parts_.ledger.write_promised(PlayersRecord{lobby, matchmaker, accounts},
                                 [this, lobby, number](Kept kept) { settled(lobby, number, kept == Kept::durable); });
    const auto [place, is_new] = lists_.try_emplace(lobby);
    if (is_new) shares_.begin(matchmaker);  // another's is refused above
    PlayerList& known = place->second;
    known.matchmaker = matchmaker;
    known.mentioned = pass.now;
    known.in_flight.push_back({number, reply_to, std::move(accounts), timer});
}

std::optional<Refusal> PlayerLists::refusal(LobbyId lobby, const std::string& matchmaker) const {
    const Match* match = parts_.matches.find(lobby);
    const auto known = lists_.find(lobby);
    const bool anothers = (match && match->record.matchmaker != matchmaker) || belongs_to_another(lobby, matchmaker);
    if (shutting_down_) return Refusal::server_shutting_down;
    if (lobby.value <= 0 || anothers || parts_.over.find(lobby)) return Refusal::invalid_match_lobby_id;
    const bool full = known == lists_.end() ? !shares_.has_room(matchmaker, lists_max)
                                            : known->second.in_flight.size() >= in_flight_max;
    if (full || parts_.ledger.congested() || parts_.ledger.half_loaded()) return Refusal::server_busy;
    if (!parts_.ledger.store_up()) return Refusal::store_unavailable;
    return std::nullopt;
}

void PlayerLists::settled(LobbyId lobby, std::uint64_t number, bool durable) {
    const auto known = lists_.find(lobby);
    if (known == lists_.end()) return;
    auto& in_flight = known->second.in_flight;
    const auto found = std::find_if(in_flight.begin(), in_flight.end(),
                                    [number](const InFlight& list) { return list.number == number; });
    if (found == in_flight.end()) return;  // was too late, and is taken back
    InFlight list = std::move(*found);
    in_flight.erase(found);
    parts_.timers.cancel(list.limit);
    if (durable && !parts_.over.find(lobby)) {
        known->second.accounts = std::move(list.accounts);
        if (const Match* match = parts_.matches.find(lobby)) {
            tell_to_come(*match);
            listed_.push_back(lobby);
        }
    }
    forget_if_void(lobby);
    using Verdict = Result<void, Refusal>;
    parts_.replies.answer_list(list.reply_to, lobby,
                               durable ? Verdict() : Verdict(Failure(Refusal::store_unavailable)));
}

// A list waits for the disk for a request's time at most. Younger lists of the lobby fall with the oldest: then
// one record, written after all of them, says what counts.
void PlayerLists::too_late(LobbyId lobby) {
    const auto known = lists_.find(lobby);
    MUSTER_CHECK(known != lists_.end() && !known->second.in_flight.empty(), "a settled list's timer is cancelled");
    PlayerList& list = known->second;
    const auto fallen = std::exchange(list.in_flight, {});
    if (list.accounts) {
        parts_.ledger.write(PlayersRecord{lobby, list.matchmaker, *list.accounts});
    } else {
        parts_.ledger.write(PlayersForgotten{lobby});
    }
    forget_if_void(lobby);
    for (const InFlight& one : fallen) parts_.timers.cancel(one.limit);
    for (const InFlight& one : fallen)
        parts_.replies.answer_list(one.reply_to, lobby, Failure(Refusal::store_unavailable));
}

void PlayerLists::mention(const Pass& pass, LobbyId lobby) {
    if (const auto known = lists_.find(lobby); known != lists_.end()) known->second.mentioned = pass.now;
}

void PlayerLists::match_over(LobbyId lobby) {
    const auto known = lists_.find(lobby);
    if (known == lists_.end()) return;
    known->second.accounts.reset();
    forget_if_void(lobby);
}

void PlayerLists::forget_if_void(LobbyId lobby) {
    const auto known = lists_.find(lobby);
    if (known->second.accounts || !known->second.in_flight.empty()) return;
    shares_.end(known->second.matchmaker);
    lists_.erase(known);
}

void PlayerLists::prune(const Pass& pass) {
    std::erase_if(lists_, [&](const auto& entry) {
        const auto& [lobby, list] = entry;
        const bool forgotten =
            !parts_.matches.find(lobby) && list.in_flight.empty() && pass.now - list.mentioned > Duration(life);
        if (forgotten) parts_.ledger.write(PlayersForgotten{lobby});
        if (forgotten) shares_.end(list.matchmaker);
        return forgotten;
    });
}

const std::vector<AccountId>* PlayerLists::accounts(LobbyId lobby) const {
    const auto known = lists_.find(lobby);
    return known == lists_.end() || !known->second.accounts ? nullptr : &*known->second.accounts;
}

bool PlayerLists::belongs_to_another(LobbyId lobby, std::string_view matchmaker) const {
    const auto known = lists_.find(lobby);
    return known != lists_.end() && known->second.matchmaker != matchmaker;
}

void PlayerLists::tell_to_come(const Match& match) {
    if (match.record.state != MatchState::ready) return;
    if (const auto* listed = accounts(match.lobby())) parts_.notices.match_ready(match.record, *listed);
}

void PlayerLists::tell_it_fell_through(LobbyId lobby, std::string_view reason) {
    parts_.notices.match_fell_through(lobby, reason, listed(lobby));
}

void PlayerLists::tell_it_was_refused(LobbyId lobby, std::string_view reason) {
    parts_.notices.request_refused(lobby, reason, listed(lobby));
}

// Nobody when no list was given.
std::span<const AccountId> PlayerLists::listed(LobbyId lobby) const {
    const auto* listed = accounts(lobby);
    return listed ? std::span(*listed) : std::span<const AccountId>();
}

}  // namespace muster
