// Which accounts may play a lobby: named by its matchmaker, before or after its request (0x2008).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/ledger.h"
#include "core/match_notices.h"
#include "core/match_table.h"
#include "core/matchmaker_shares.h"
#include "core/over_lobbies.h"
#include "core/records.h"
#include "core/replies.h"
#include "protocol/error_texts.h"
#include "protocol/matchmaker_messages.h"
#include "runtime/pass.h"
#include "runtime/timers.h"

namespace muster {

// Game thread only. A list counts from the moment it is durable. One that the disk does not take leaves the list before
// it as it is.
class PlayerLists {
public:
    // All of them outlive the lists.
    struct Parts {
        Timers& timers;
        Ledger& ledger;
        Replies& replies;
        MatchNotices& notices;
        const MatchTable& matches;
        const OverLobbies& over;
    };

    // At most so many lists of one lobby are written at once, and so many lobbies have a list.
    static constexpr std::size_t in_flight_max = 64;
    static constexpr std::size_t lists_max = 100'000;
    // A matchmaker may have so many times the lists that are free: three quarters of all, if it is the only one.
    static constexpr std::size_t lists_share = 3;
    // A list whose lobby has no match is forgotten so long after the last word of that lobby: a list or a request.
    static constexpr std::chrono::hours life{1};

    explicit PlayerLists(const Parts& parts) : parts_(parts) {}

    void recover(const Pass& pass, std::span<const PlayersRecord> lists);

    // Answered exactly once: now when refused, else when the disk has it or after `limit`.
    void set(const Pass& pass, const ReplyTo& reply_to, const std::string& matchmaker, const MatchPlayers& list,
             Duration limit);
    // Somebody asks for a server for the lobby.
    void mention(const Pass& pass, LobbyId lobby);
    // Its match is over. Lists in flight still get their answer.
    void match_over(LobbyId lobby);
    // no new lists.
    void shut_down() { shutting_down_ = true; }
    // Now and then: lists of lobbies that nobody speaks of any more.
    void prune(const Pass& pass);

    std::size_t size() const { return lists_.size(); }
    // Null when no list was given.
    const std::vector<AccountId>* accounts(LobbyId lobby) const;
    // Lobbies with a match whose list has become durable since the last call.
    std::vector<LobbyId> take_listed() { return std::exchange(listed_, {}); }
    bool has_listed() const { return !listed_.empty(); }
    // Another matchmaker has given the list.
    bool belongs_to_another(LobbyId lobby, std::string_view matchmaker) const;

    // Its server is ready: who is listed is told to come.
    void tell_to_come(const Match& match);
    void tell_it_fell_through(LobbyId lobby, std::string_view reason);
    void tell_it_was_refused(LobbyId lobby, std::string_view reason);

private:
    struct InFlight {
        std::uint64_t number = 0;
        ReplyTo reply_to;
        std::vector<AccountId> accounts;
        TimerId limit;  // of the wait for the disk
    };
    struct PlayerList {
        std::string matchmaker;
        std::optional<std::vector<AccountId>> accounts;  // who may play; nothing until a list was durable
        std::vector<InFlight> in_flight;                 // oldest first
        Time mentioned;
    };

    std::span<const AccountId> listed(LobbyId lobby) const;
    std::optional<Refusal> refusal(LobbyId lobby, const std::string& matchmaker) const;
    void settled(LobbyId lobby, std::uint64_t number, bool durable);
    void too_late(LobbyId lobby);
    void forget_if_void(LobbyId lobby);

    const Parts parts_;
    std::unordered_map<LobbyId, PlayerList> lists_;
    MatchmakerShares shares_{lists_share};
    std::vector<LobbyId> listed_;
    std::uint64_t next_number_ = 1;
    bool shutting_down_ = false;
};

}  // namespace muster
