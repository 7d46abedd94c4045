// clang-format off
// Every lobby's way from the request to the end. The one place where each transition can be read:
//
//   state      what happens                              then
//   ---------  ----------------------------------------  -------------------------------------------------------------
//   (none)     request, checks pass, a server is free    offering: slot taken, the offer goes to the store
//   (none)     request refused, or no server             (none): 2003 says why
//   offering   asked again by the same matchmaker        offering: one more waits for the same answer
//   offering   durable                                   offering: ALLOCATE_MATCH sent
//   offering   durable, but its server may not be asked  offering to the next best; (none) after four or with none
//              any more
//   offering   not durable: disk full                    (none): 2003 says why; the server never heard of it
//   offering   sent, ack 1 from that registration        allocated: 2003 with the token
//   offering   sent, ack 0                               offering to the next best; (none) after four or with none
//   offering   the server goes Offline                   the same
//   offering   sent, no answer in 5 s                    the same, and ABORT_MATCH to the silent one
//   offering   25 s, cancel, operator, shutdown          (none): 2003 says why; ABORT_MATCH if it was sent
//   allocated  READY                                     ready: event 1, players are told
//   allocated  token expires and nobody came             aborted: event 4, ABORT_MATCH
//   offering   found at a restart                        allocated, in doubt: perhaps it was answered
//   allocated, ready, started  found at a restart        the same, in doubt
//   allocated  in doubt, its server is back              the same: the server is asked once more
//   allocated  in doubt, no, or no answer in 5 s         aborted: 2003 says a failure to who waits, event 4
//   allocated  in doubt, yes                             the same: whoever waits gets the 2003
//   ready, started  in doubt, its server's report        the same: whoever waits gets the 2003
//              counts all that it holds
//   allocated, ready, started  in doubt, its server      the same: whoever waits gets the 2003
//              speaks of it
//   allocated, ready  STARTED                            started: event 2
//   ready      ready_timeout, nobody came                aborted: event 4, ABORT_MATCH
//   allocated, ready, started  asked again               the same: the same 2003 again
//   allocated, ready, started  ENDED                     ended: event 3, slot free
//   allocated, ready, started  server removed, cancel,   aborted: event 4, slot free; ABORT_MATCH when that is durable
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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "base/entropy.h"
#include "base/ids.h"
#include "base/issued_time.h"
#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "core/doubts.h"
#include "core/events.h"
#include "core/fleet.h"
#include "core/ledger.h"
#include "core/link_table.h"
#include "core/match.h"
#include "core/match_figures.h"
#include "core/match_news.h"
#include "core/match_notices.h"
#include "core/match_table.h"
#include "core/matchmaker_shares.h"
#include "core/matchmakers.h"
#include "core/offers.h"
#include "core/over_lobbies.h"
#include "core/player_lists.h"
#include "core/replies.h"
#include "core/seats.h"
#include "core/standing_queue.h"
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
    Duration ready_timeout = std::chrono::minutes(10);
    std::size_t news_portion = MatchNews::portion_bytes;  // fits a link's unsent bytes
};

// What a report of a game server was: it changed something, or it was said before.
enum class Reported : std::uint8_t { news, again };

// How those hear of a match's end who wait for something.
struct MatchEnding {
    Refusal to_who_waits = Refusal::server_allocation_timeout;
    std::optional<ReplyTo> cancelled{};  // its matchmaker gets the event as an answer
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
        Replies& replies;
        Fleet& fleet;
        Matchmakers& matchmakers;
        IssuedTime& issued;
        Entropy& entropy;
        MatchNotices& notices;
    };

    // At most so many askers wait for one lobby.
    static constexpr std::size_t asks_max = 64;

    Matches(const MatchesConfig& config, const Parts& parts);

    // Takes effect for requests from now on.
    void configure(const MatchesConfig& config) { config_ = config; }

    // What the last run left: each match is in doubt until its server shows that it holds it (faults 65 and 72).
    void recover(const Pass& pass, RecoveredState&& state);

    // From matchmakers, and from the operator as one of them. Each is answered exactly once, now or later.
    // A request was read at `received`, and is named by `id`; one that comes without gets one.
    void request(const Pass& pass, const ReplyTo& reply_to, const Matchmaker& from, const AllocationRequest& request,
                 Time received, std::string id = {});
    void cancel(const Pass& pass, const ReplyTo& reply_to, const Matchmaker& from, LobbyId lobby);
    void players(const Pass& pass, const ReplyTo& reply_to, const Matchmaker& from, const MatchPlayers& list);
    // It has shaken hands: it is told of each lobby that it may have missed.
    void matchmaker_back(const Matchmaker& matchmaker) { news_.matchmaker_back(matchmaker); }
    void link_drained(ConnectionId link) { news_.drained(link); }
    // In every pass. How much there was to do.
    std::size_t update(const Pass& pass);

    // From game servers.
    // A game server said something, which was read at that time: what servers say comes before requests.
    void heard_server(const Pass& pass, Time received) { queue_.heard_server(pass.now, received); }
    void acknowledge(const Pass& pass, const Server& from, const AllocateMatchAck& ack);
    Result<Reported, Refusal> ready(const Pass& pass, const Server& from, const ReadyForMatch& report);
    Result<Reported, Refusal> started(const Pass& pass, const Server& from, LobbyId lobby);
    Result<Reported, Refusal> ended(const Pass& pass, const Server& from, LobbyId lobby);
    void validate(const Pass& pass, const ReplyTo& reply_to, const Server& from, const ValidateToken& request);

    // What became of servers, in the order it happened.
    void server_registered(const Server& server);
    void server_offline(const Pass& pass, const FleetFact& fact);
    void server_removed(const Pass& pass, const FleetFact& fact);
    void load_covered(const Pass& pass, const Server& server);
    void load_mismatch(const Pass& pass, const Server& server);

    // A request's time, and the longest that an answer waits for the disk: those behind it about the same lobby have
    // theirs. Timers round up to whole milliseconds: it is over at its very limit, not after it.
    Duration limit_delay() const {
        return std::max<Duration>(config_.deadline - std::chrono::nanoseconds(999'999), Timers::delay_least);
    }

    // An operator's word. False when there is no such match.
    bool abort(const Pass& pass, LobbyId lobby, std::string_view reason);

    // new requests are refused, those in flight are failed.
    void shut_down(const Pass& pass);

    // Null when the lobby has no match now.
    const Match* find(LobbyId lobby) const { return table_.find(lobby); }
    const PlayerLists& lists() const { return lists_; }
    std::vector<LobbyId> take_listed() { return lists_.take_listed(); }
    bool has_listed() const { return lists_.has_listed(); }
    std::size_t size() const { return table_.size(); }
    std::size_t in_flight() const { return in_flight_.count(); }
    const MatchFigures& figures() const { return figures_; }
    const MatchNews& news() const { return news_; }
    const std::vector<LobbyId>& held_on(ServerId server) const { return table_.held_on(server); }
    const std::vector<LobbyId>& offered_on(ServerId server) const { return table_.offered_on(server); }

    // By ascending lobby.
    template <class Visit>
    void for_each(Visit visit) const {
        table_.for_each(visit);
    }
    // Those that come after `last`, at most `left`, which tells how many are still left. False when there are more.
    template <class Visit>
    bool visit_after(LobbyId last, std::size_t& left, Visit visit) const {
        return table_.visit_after(last, left, visit);
    }

private:
    // Requests (matches_requests.cpp).
    std::optional<Refusal> judged(const Matchmaker& from, const AllocationRequest& request, bool taken) const;
    void join(const ReplyTo& reply_to, Match& match);
    void refuse(const ReplyTo& reply_to, const AllocationRequest& request, std::string_view id, Refusal why);
    void tell_refused(const event::MatchRefused& refused);
    void refused_busy(const AllocationRequest& request, std::string_view id);
    void offer_next(const Pass& pass, Match& match);
    void offer_recorded(const Pass& pass, LobbyId lobby, std::uint64_t serial, std::size_t offers, Kept kept);
    void offer_timed_out(const Pass& pass, LobbyId lobby, std::uint64_t serial);
    void limit_reached(const Pass& pass, LobbyId lobby, std::uint64_t serial);
    void accept(const Pass& pass, Match& match);
    void answer_success(const ReplyTo& reply_to, Match& match);
    void answer_when_allowed(ReplyTo reply_to, const Match& match);
    void tell_success(const ReplyTo& reply_to, Match& match);
    void not_allowed(const ReplyTo& reply_to, std::uint64_t serial);
    void wait_for_answer(const ReplyTo& reply_to, Match& match);
    void refuse_who_waits(Match& match, Refusal why);
    void fail(const Pass& pass, Match& match, Refusal why);
    void withdraw(const Pass& pass, Match& match, Refusal why, Reason reason);

    // Matches that a restart found, and that their servers are asked about once more (matches_recovery.cpp).
    void ask_in_doubt(ServerId id);
    void doubt_timed_out(const Pass& pass, LobbyId lobby, std::uint64_t serial);
    void heard_of(const Pass& pass, Match& match, const Server& from);
    void stands(const Pass& pass, Match& match);
    void given_up(const Pass& pass, Match& match);

    // Lives of matches (matches.cpp).
    Result<Match*, Refusal> match_of_report(const Pass& pass, const Server& from, LobbyId lobby);
    void over(const Pass& pass, Match& match, MatchState how, std::string_view reason, const MatchEnding& ending = {});
    // Answers it in time, whatever the disk does.
    TimerId limit_cancel(const ReplyTo& reply_to);
    void answer_cancel(const ReplyTo& reply_to);
    void became_ready(const Pass& pass, Match& match);
    void look_whether_anybody_came(const Pass& pass, LobbyId lobby, std::uint64_t serial);
    void start_expiry(Match& match, Duration left);
    void expiry_due(const Pass& pass, LobbyId lobby, std::uint64_t serial);
    void save(const Match& match);
    void forget(Match& match);
    void prune(const Pass& pass);
    UnixMs wall() { return issued_.at(time_.now()); }
    // Calls `act` with the pass, after `delay`.
    template <class Act>
    TimerId after(TimeBase base, Duration delay, Act act) {
        return timers_.start({.first_delay = delay, .base = base}, [act](const TimerFired& fired) { act(fired.pass); });
    }

    MatchesConfig config_;
    const LoopTime& time_;
    Timers& timers_;
    Events& events_;
    Log& log_;
    Ledger& ledger_;
    LinkTable& links_;
    Replies& replies_;
    Fleet& fleet_;
    IssuedTime& issued_;
    MatchNotices& notices_;

    MatchTable table_;
    OverLobbies over_;
    MatchFigures figures_;
    MatchNews news_;
    PlayerLists lists_;
    Offers offers_;
    Doubts doubts_;
    Seats seats_;
    MatchmakerShares in_flight_{8};
    std::uint64_t next_serial_ = 1;
    StandingQueue queue_;            // of requests that the loop has not handled yet
    std::uint64_t busy_untold_ = 0;  // refused with "Server busy" and not told in the log yet
    Time busy_told_next_{};
    bool shutting_down_ = false;
};

}  // namespace muster
