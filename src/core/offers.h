// Offers of matches to game servers: choosing a server, asking it, taking the question back, and its answer (A-4 …
// A server is asked once the record of its offer is durable, so that no crash leaves it with a match that nobody
// knows of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>

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

// Game thread only. A match has one offer at a time, and keeps its slot on that server from the moment it is chosen.
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

    // Late acknowledgements of one link whose abort waits for the disk. Beyond them it is told at once, as without the
    // disk.
    static constexpr std::size_t late_of_link_max = 256;

    explicit Offers(const Parts& parts) : parts_(parts) {}

    // Chooses the best server that the match has not tried, and takes its slot. Why it cannot: all retries are used, or
    // no server is left. The caller makes match.record durable, then calls send().
    std::optional<Refusal> make(Match& match, int retries, UnixMs now);
    // Asks the server. The caller starts the timer match.offer, which ends with the offer.
    // False when the server may not be asked any more: it is gone, drains, or says that it is full. Then the offer is
    // over, and unheard.
    bool send(Match& match);

    // If the server was asked, it is told to drop the match, and still owes its answer.
    void take_back(Match& match, Reason reason);
    // The server is away: if it was asked, it has to be told when it comes back.
    void lost(Match& match, const Endpoint& endpoint);

    enum class Answer : std::uint8_t { yes, no, not_awaited };
    // Late, twice, or for a match that it was not asked about: only counted (fault 61), and if it says yes, it is told
    // to drop the match.
    Answer answered(const Server& from, const AllocateMatchAck& ack);

    // The server is to drop the match: it hears so now if it is there, and again when it comes back, unless it has
    // surely heard it.
    void drop(ServerId id, LobbyId lobby, std::string_view reason);
    // The same for a match that it holds. It hears so when all that was written is durable: a crash before that leaves
    // the match as it was, and its server, too. Without the disk it hears so at once.
    void drop_when_durable(ServerId id, LobbyId lobby, std::string_view reason);

    // It registered anew, or is gone: what it owed is void.
    void forget(ServerId server) { old_.forget(server); }

private:
    void over(Match& match);
    void unexpected(const Server& from, const AllocateMatchAck& ack);
    void abort_late(ConnectionId link, LobbyId lobby);

    const Parts parts_;
    OldOffers old_;
    std::map<ConnectionId, std::set<LobbyId>> late_;  // lobbies whose abort waits
};

}  // namespace muster
