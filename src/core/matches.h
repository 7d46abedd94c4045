// clang-format off
// Every lobby's way from the request to the end. The one place where each transition can be read:
//
//   state      what happens                              then
//   ---------  ----------------------------------------  -------------------------------------------------------------
//   (none)     request, checks pass, a server is free    offering: slot taken, ALLOCATE_MATCH sent
//   (none)     request refused, or no server             (none): 2003 says why
//   offering   asked again by the same matchmaker       offering: one more waits for the same answer
//   offering   ack 1 from that registration              allocated, not durable yet: the record goes to the store
//   offering   ack 0, or the server goes Offline         offering to the next best; (none) after four or with none
//   offering   no answer in 5 s                          the same, and ABORT_MATCH to the silent one
//   offering   25 s, cancel, operator, shutdown          (none): 2003 says why, ABORT_MATCH
//   allocated  durable                                   allocated: 2003 with the token
//   allocated  not durable: disk full, 25 s, cancel,     (none): 2003 says why, ABORT_MATCH
//              operator, shutdown
//   allocated  not durable, server removed               offering to the next best
//   allocated  durable, held back for over 25 s (W-8)    aborted: 2003 says a failure, event 4, ABORT_MATCH
//   allocated  READY                                     ready: event 1, players are told
//   allocated  token expires and nobody came             aborted: event 4, ABORT_MATCH
//   allocated, ready  STARTED                            started: event 2
//   allocated, ready, started  asked again               the same: the same 2003 again
//   allocated, ready, started  ENDED                     ended: event 3, slot free
//   allocated, ready, started  server removed, cancel,   aborted: event 4, ABORT_MATCH, slot free
//              operator, lost by the server
//   allocated, ready, started  gone by its count (F-7)   ended: event 3, slot free
//   any        an ack that fits no offer                 the same: counted; ABORT_MATCH when it accepts
//
// docs/TRANSITIONS.md names the tests of each row.
// clang-format on
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/entropy.h"
#include "base/ids.h"
#include "base/issued_time.h"
#include "base/result.h"
#include "base/time.h"
#include "core/matchmakers.h"
#include "core/fleet.h"
#include "core/ledger.h"
#include "core/link_table.h"
#include "core/match.h"
#include "core/match_figures.h"
#include "core/match_watcher.h"
#include "core/over_lobbies.h"
#include "core/visit_after.h"
#include "protocol/error_texts.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/server_messages.h"
#include "runtime/events.h"
#include "runtime/timers.h"

namespace muster {

struct MatchesConfig {
    Duration ack_timeout = std::chrono::seconds(5);
    int retries = 3;
    Duration deadline = std::chrono::seconds(25);
    std::size_t in_flight_max = 10'000;
    Duration token_ttl = std::chrono::seconds(120);
    Duration lobby_memory = std::chrono::hours(24);
    int token_guesses_per_minute = 10;
};

// Game thread only.
class Matches {
public:
    // All of them outlive the matches.
    struct Parts {
        const LoopTime& time;
        Timers& timers;
        Events& events;
        Log& log;
        Ledger& ledger;
        LinkTable& links;
        Fleet& fleet;
        Matchmakers& matchmakers;
        IssuedTime& issued;
        Entropy& entropy;
        MatchWatcher& watcher;
    };

    // At most so many askers, and so many lists of players, wait for one lobby; and so many lobbies have a list.
    static constexpr std::size_t asks_max = 64;
    static constexpr std::size_t lists_max = 100'000;
    // A list whose lobby has no match is forgotten so long after the last word of that lobby: a list or a request.
    static constexpr std::chrono::hours list_life{1};

    Matches(const MatchesConfig& config, const Parts& parts);

    // Takes effect for requests from now on.
    void configure(const MatchesConfig& config) { config_ = config; }

    // What the last run left: what was answered goes on, what was not is withdrawn (fault 65).
    void recover(const Pass& pass, const RecoveredState& state);

    // From matchmakers. Each ticket is answered exactly once, now or later.
    void request(const Pass& pass, const Ticket& ticket, const Matchmaker& from, const AllocationRequest& request);
    void cancel(const Pass& pass, const Ticket& ticket, const Matchmaker& from, LobbyId lobby);
    void players(const Pass& pass, const Ticket& ticket, const Matchmaker& from, const MatchPlayers& list);
    // It has shaken hands: the latest event of each lobby that it missed.
    void matchmaker_back(const Matchmaker& matchmaker);

    // From game servers.
    void acknowledge(const Pass& pass, const Server& from, const AllocateMatchAck& ack);
    Result<void, Refusal> ready(const Pass& pass, const Server& from, const ReadyForMatch& report);
    Result<void, Refusal> started(const Pass& pass, const Server& from, LobbyId lobby);
    Result<void, Refusal> ended(const Pass& pass, const Server& from, LobbyId lobby);
    void validate(const Pass& pass, const Ticket& ticket, const Server& from, const ValidateToken& request);

    // What became of servers.
    void server_offline(const Pass& pass, ServerId server);
    void server_removed(const Pass& pass, const Server& server, Reason reason);
    void server_registered(ServerId server);
    void load_mismatch(const Pass& pass, const Server& server);

    // An operator's word. False when there is no such match.
    bool abort(const Pass& pass, LobbyId lobby, std::string_view reason);

    // An allocation's answer has left on its link: events that waited for it follow. When it was held back for too long
    // a failure left in its place, and the match that nobody was told of falls through (fault 63).
    void answer_left(LobbyId lobby, bool in_time);

    // new requests are refused, those in flight are failed.
    void shut_down(const Pass& pass);

    // Null when the lobby has no match now.
    const Match* find(LobbyId lobby) const;
    // The accounts of a lobby, null when no list was given.
    const std::vector<AccountId>* accounts(LobbyId lobby) const;
    std::size_t size() const { return matches_.size(); }
    std::size_t in_flight() const { return in_flight_; }
    const MatchFigures& figures() const { return figures_; }
    const std::vector<LobbyId>& held_on(ServerId server) const;

    // By ascending lobby.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const auto& [lobby, match] : matches_) visit(match);
    }
    // Those that come after `last`, at most `left`, which tells how many are still left. False when there are more.
    template <class Visit>
    bool visit_after(LobbyId last, std::size_t& left, Visit visit) const {
        return muster::visit_after(matches_, last, left, visit);
    }

private:
    struct PlayerList {
        struct InFlight {
            std::uint64_t serial = 0;
            Ticket ticket;
            std::vector<AccountId> accounts;
            TimerId limit;  // of the wait for the disk
        };

        std::string matchmaker;
        std::optional<std::vector<AccountId>> accounts;  // who may play; nothing until a list was durable
        std::vector<InFlight> in_flight;                 // lists that are being written, oldest first
        Time mentioned;
    };
    // A token's use that is being written.
    struct UseInFlight {
        Ticket ticket;
        LobbyId lobby;
        std::uint64_t serial = 0;  // of the request
        int offer = 0;
        AccountId account;
        TimerId limit;  // of the wait for the disk
    };
    struct OnServer {
        std::vector<LobbyId> offered;
        std::vector<LobbyId> held;        // oldest acknowledgement first
        std::vector<LobbyId> unanswered;  // withdrawn offers it has not answered
    };

    // Requests (matches_requests.cpp).
    std::optional<Refusal> judged(const Matchmaker& from, const AllocationRequest& request) const;
    void join(const Ticket& ticket, Match& match);
    void refuse(const Pass& pass, const Ticket& ticket, const AllocationRequest& request, Refusal why);
    void offer_next(const Pass& pass, Match& match);
    void offer_timed_out(const Pass& pass, LobbyId lobby, std::uint64_t serial);
    void take_back_offer(Match& match, Reason reason);
    void limit_reached(const Pass& pass, LobbyId lobby, std::uint64_t serial);
    void bad_ack(const Server& from, const AllocateMatchAck& ack);
    void answered_old_offer(ServerId server, LobbyId lobby);
    void accept(const Pass& pass, Match& match);
    void settled(const Pass& pass, LobbyId lobby, std::uint64_t serial, int offer, bool durable);
    void answer_success(const Ticket& ticket, const Match& match);
    void answer_too_late(LobbyId lobby);
    // A request's time. Timers round up to whole milliseconds: it is over at its very limit, not after it.
    Duration limit_delay() const {
        return std::max<Duration>(config_.deadline - std::chrono::nanoseconds(999'999), Timers::delay_least);
    }
    void fail(const Pass& pass, Match& match, Refusal why);
    void withdraw(const Pass& pass, Match& match, Refusal why, Reason reason);

    // Lives of matches (matches.cpp).
    Result<Match*, Refusal> reported(const Server& from, LobbyId lobby);
    void over(const Pass& pass, Match& match, MatchState how, std::string_view reason);
    void tell(MatchRecord& record, bool may_leave, MatchEventKind kind);
    void publish_ready(const Match& match);
    void forget_reports(Match& match);
    void tell_players_to_come(const Match& match);
    void tell_players_it_fell_through(LobbyId lobby, std::string_view reason);
    void start_expiry(Match& match, Duration left);
    void expiry_due(const Pass& pass, LobbyId lobby, std::uint64_t serial);
    void save(const Match& match);
    void forget(Match& match);
    void prune(const Pass& pass);
    Match* mutable_find(LobbyId lobby);
    OnServer& on_server(ServerId server) { return on_server_[server]; }
    UnixMs wall() { return issued_.at(time_.now()); }

    // Tokens (match_tokens.cpp).
    std::optional<Refusal> token_refusal(const Pass& pass, const Server& from, const ValidateToken& request);
    bool guessing_blocked(const Pass& pass, GuessCount& guesses);
    void wrong_guess(const Pass& pass, GuessCount& guesses);
    void use_settled(std::uint64_t number, bool durable);
    void use_too_late(std::uint64_t number);
    Match* match_of(const UseInFlight& use);
    void take_back(Match& match, AccountId account);
    void release_uses(Match& match);

    // Lists of players (match_players.cpp).
    std::optional<Refusal> list_refusal(const Matchmaker& from, LobbyId lobby) const;
    void list_settled(LobbyId lobby, std::uint64_t serial, bool durable);
    void lists_too_late(LobbyId lobby);
    void end_list(LobbyId lobby);
    void forget_if_void(LobbyId lobby);

    MatchesConfig config_;
    const LoopTime& time_;
    Timers& timers_;
    Events& events_;
    Log& log_;
    Ledger& ledger_;
    LinkTable& links_;
    Fleet& fleet_;
    Matchmakers& matchmakers_;
    IssuedTime& issued_;
    Entropy& entropy_;
    MatchWatcher& watcher_;

    std::map<LobbyId, Match> matches_;
    std::unordered_map<ServerId, OnServer> on_server_;
    std::unordered_map<LobbyId, std::vector<ServerId>> unanswered_;  // the same by lobby
    std::unordered_map<LobbyId, PlayerList> lists_;
    std::unordered_map<std::uint64_t, UseInFlight> uses_in_flight_;
    OverLobbies over_;
    // Over, with an event that its matchmaker has not been sent; and which lobbies each matchmaker has to be told of.
    std::unordered_map<LobbyId, MatchRecord> untold_over_;
    std::map<std::string, std::set<LobbyId>, std::less<>> untold_;
    GuessCount unknown_lobby_guesses_;
    std::size_t in_flight_ = 0;
    std::uint64_t next_serial_ = 1;
    bool shutting_down_ = false;
    MatchFigures figures_;
};

}  // namespace muster
