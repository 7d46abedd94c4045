// Letting players into their matches: one account once, on the right server, in time (K-1 … K-3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/log.h"
#include "base/time.h"
#include "core/ledger.h"
#include "core/match_figures.h"
#include "core/match_table.h"
#include "core/player_lists.h"
#include "core/replies.h"
#include "core/server.h"
#include "core/wrong_tokens.h"
#include "protocol/error_texts.h"
#include "protocol/server_messages.h"
#include "runtime/events.h"
#include "runtime/pass.h"
#include "runtime/timers.h"

namespace muster {

// Game thread only. A seat is taken when its use is asked for, and durable before anybody is told so.
class Seats {
public:
    // All of them outlive the seats.
    struct Parts {
        Timers& timers;
        Events& events;
        Log& log;
        Ledger& ledger;
        Replies& replies;
        MatchTable& matches;
        const PlayerLists& lists;
        MatchFigures& figures;
    };

    explicit Seats(const Parts& parts) : parts_(parts) {}

    // K-2: why the account is not let in; nothing when it may be. Counts wrong tokens.
    std::optional<Refusal> refusal(const Pass& pass, const Server& from, const ValidateToken& request);
    // That a token was used is said once the use is durable: one that never becomes so was none.
    void refuse(const ReplyTo& reply_to, const ValidateToken& request, Refusal why);
    // Takes a seat that refusal() had no objection to. Answered when it is durable, or after `limit`.
    void take(const ReplyTo& reply_to, Match& match, AccountId account, Duration limit);

    // Matches that lost a seat again because it could not be made durable: perhaps nobody is left in them.
    std::vector<LobbyId> take_vacated() { return std::exchange(vacated_, {}); }

private:
    // A token's use that is being written.
    struct InFlight {
        ReplyTo reply_to;
        LobbyId lobby;
        std::uint64_t serial = 0;  // of the request
        AccountId account;
        TimerId limit;                 // of the wait for the disk
        std::vector<ReplyTo> again{};  // who asked for the same use meanwhile
    };
    static constexpr std::size_t again_max = 8;

    void wrong_token(const Pass& pass, const Server& from, LobbyId lobby, WrongTokens& wrong);
    void settled(std::uint64_t number, bool durable);
    void too_late(std::uint64_t number);
    // Null when no such use is being written.
    InFlight* in_flight(LobbyId lobby, AccountId account);
    std::optional<InFlight> take_in_flight(std::uint64_t number);
    void refuse(const InFlight& use, Refusal why);
    void refuse_again(const InFlight& use, Refusal why);
    void refuse_one(const ReplyTo& reply_to, LobbyId lobby, AccountId account, Refusal why);
    Match* match_of(const InFlight& use);
    void give_back(Match& match, AccountId account);

    const Parts parts_;
    std::unordered_map<std::uint64_t, InFlight> in_flight_;
    std::map<std::pair<LobbyId, AccountId>, std::uint64_t> number_of_;  // of those
    std::uint64_t next_number_ = 1;
    WrongTokens wrong_tokens_elsewhere_;  // for lobbies that have no match
    std::vector<LobbyId> vacated_;
};

}  // namespace muster
