// Offers of matches to game servers: choosing a server, asking it, taking the question back, and its answer (A-4 …
//
#pragma once

#include <cstdint>
#include <optional>

#include "base/entropy.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/fleet.h"
#include "core/ledger.h"
#include "core/link_table.h"
#include "core/match_figures.h"
#include "core/match_table.h"
#include "core/old_offers.h"
#include "protocol/error_texts.h"
#include "protocol/server_messages.h"
#include "runtime/events.h"
#include "runtime/timers.h"

namespace muster {

// Game thread only. A match has one offer at a time, and keeps its slot on that server from the moment it is asked.
class Offers {
public:
    // All of them outlive the offers.
    struct Parts {
        Timers& timers;
        Events& events;
        Ledger& ledger;
        LinkTable& links;
        Fleet& fleet;
        MatchTable& matches;
        Entropy& entropy;
        MatchFigures& figures;
    };

    explicit Offers(const Parts& parts) : parts_(parts) {}

    // Asks the best server that the match has not tried. Why it cannot: all retries are used, or no server is left.
    // The caller starts the timer match.offer, which ends with the offer.
    std::optional<Refusal> make(Match& match, int retries, UnixMs now);

    // The server is told to drop the match, and still owes its answer.
    void take_back(Match& match, Reason reason);
    // The server is away: it has to be told when it comes back.
    void lost(Match& match, const Endpoint& endpoint);

    enum class Answer : std::uint8_t { yes, no, not_awaited };
    // Late, twice, or for a match that it was not asked about: only counted (fault 61), and if it says yes, it is told
    // to drop the match.
    Answer answered(const Server& from, const AllocateMatchAck& ack);

    // It registered anew, or is gone: what it owed is void.
    void forget(ServerId server) { old_.forget(server); }

private:
    void over(Match& match);
    void unexpected(const Server& from, const AllocateMatchAck& ack);

    const Parts parts_;
    OldOffers old_;
};

}  // namespace muster
