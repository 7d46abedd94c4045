// Every lobby as the honest peers know it: what was asked, answered, taken, reported and told. It objects when what a
// peer hears cannot be true together with what another heard.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "moment.h"
#include "protocol/matchmaker_messages.h"
#include "weather.h"

namespace muster::storm {

struct Answer {
    std::int32_t server = 0;
    std::int32_t port = 0;
    std::string token;
    bool operator==(const Answer&) const = default;
};

using Objection = std::optional<std::string>;

struct Lobby {
    std::size_t matchmaker = 0;
    std::vector<std::int32_t> guests;  // accounts that will come
    Moment first_asked;
    std::optional<Moment> asked;  // a request that has no answer
    int refusals = 0;
    std::optional<Answer> answer;
    Moment answered_at;
    std::optional<Moment> cancelled;
    std::vector<Answer> taken;  // acknowledged by these; the newest last
    bool ending = false;        // its server has reported the end
    int reported = 0;           // the latest report that was accepted: 1 ready, 2 started, 3 ended
    Moment reported_at;
    int told = 0;  // the latest event that its matchmaker heard, 4 being an abort
    std::optional<Moment> aborted_at;
    std::set<std::int32_t> used;    // accounts whose token was accepted
    std::set<std::int32_t> unsure;  // accounts whose last use has an unknown outcome
    bool over = false;
    std::vector<Answer> offers;  // of the request as it stands, the newest last
    bool hesitated = false;      // a server let its time for the offer pass
};

// One thread.
class LobbyBook {
public:
    // What every request must be answered by, and every event told by, in time that the daemon ran.
    struct Limits {
        Span answer{15'000'000'000};
        Span event{6'000'000'000};
    };

    LobbyBook(const Weather& weather, const Limits& limits) : weather_(weather), limits_(limits) {}

    // A matchmaker asks, for the first time or again.
    Lobby& ask(std::int32_t lobby, std::size_t matchmaker, Moment at);
    void cancel(std::int32_t lobby, Moment at);
    // Its matchmaker wants no answer any more.
    void give_up(std::int32_t lobby, Moment at);
    // Null for a lobby that nobody asked for, or that was over long ago.
    Lobby* find(std::int32_t lobby);
    // Lobbies of that matchmaker that are not over.
    std::vector<std::int32_t> open_of(std::size_t matchmaker) const;
    std::size_t open() const { return open_.size(); }
    std::size_t answered() const { return answered_; }

    // No server takes it: its request fails after the last retry.
    static bool unwanted(std::int32_t lobby) { return lobby % 199 == 7; }

    // A server hears of an offer that it has not heard of yet.
    Objection offered(std::int32_t lobby, const Answer& to);
    // A server acknowledges it, with what it knows.
    void taken(std::int32_t lobby, const Answer& by);
    // Its matchmaker hears 2003 or 2006.
    Objection accepted(std::int32_t lobby, const Answer& answer, Moment at);
    Objection refused(std::int32_t lobby, std::string_view why, Moment at);
    Objection told(std::int32_t lobby, MatchEventKind kind, std::string_view reason, Moment at);
    // Its server hears: drop it; your report was accepted; this match is not yours.
    Objection aborted(std::int32_t lobby, const Answer& by, std::string_view reason, Moment at);
    void reported(std::int32_t lobby, MatchEventKind kind, Moment at);
    Objection disowned(std::int32_t lobby, const Answer& by, std::string_view why, Moment at);
    // It played on, and asked at a time of its link: it must have heard of an abort that its matchmaker heard of, on
    // that link or, when it was away, at its beginning.
    struct LinkTime {
        Moment began;
        Moment asked;
    };
    Objection not_told_to_drop(std::int32_t lobby, const Answer& by, const LinkTime& link);
    // Its server hears that its report is taken, but is not on the disk.
    Objection report_not_kept(std::int32_t lobby, Moment at) const;
    // Its server hears of a token.
    Objection token_accepted(std::int32_t lobby, std::int32_t account);
    void token_unanswered(std::int32_t lobby, std::int32_t account);
    Objection token_refused(std::int32_t lobby, std::int32_t account, std::string_view why, Moment at);

    // What is still owed. `heard_since` tells when each matchmaker last shook hands; nothing while it is away.
    Objection sweep(Moment at, const std::vector<std::optional<Moment>>& heard_since);

private:
    bool store_may_fail(Moment from, Moment to) const;
    bool may_fall_through(const Lobby& lobby, std::string_view reason) const;
    bool holds(const Lobby& lobby, const Answer& by) const { return lobby.answer == by && !lobby.over; }
    void close(std::int32_t id, Lobby& lobby, Moment at);

    const Weather& weather_;
    Limits limits_;
    std::map<std::int32_t, Lobby> lobbies_;
    std::set<std::int32_t> open_;
    std::vector<std::pair<Moment, std::int32_t>> closed_;  // by time
    std::size_t answered_ = 0;
};

}  // namespace muster::storm
