// One lobby's request for a server, and the match that comes of it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/link_table.h"
#include "core/records.h"
#include "runtime/timer_id.h"

namespace muster {

// How many wrong tokens were tried for a lobby lately (fault 68).
struct GuessCount {
    int wrong = 0;
    Time window_start{};
    Time blocked_until{};
};

// Times without a note are real time.
struct Match {
    MatchRecord record;        // what is, or will be, durable
    std::uint64_t serial = 0;  // of the request: a failed lobby may be asked for again
    Time requested;

    // While a server is sought.
    int offers = 0;                 // made so far; the latest is to record.server
    bool offer_unanswered = false;  // one of them timed out
    std::vector<ServerId> tried;
    std::vector<Ticket> asks;  // who waits for the answer
    TimerId limit;             // ends the request, whatever happens
    TimerId offer;             // ends the offer; running time

    // From the acknowledgement on.
    bool durable = false;      // the promise may be answered, and was
    bool ended_early = false;  // the server reported its end before it was durable
    bool answered = false;     // a success has left for the matchmaker
    Time token_expires{};
    TimerId expiry;
    std::vector<AccountId> used;  // accounts let in, those still being written too
    GuessCount guesses;

    bool offering() const { return record.state == MatchState::offering; }
    LobbyId lobby() const { return record.lobby; }
};

}  // namespace muster
