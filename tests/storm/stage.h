// What all honest peers share: the links, the agenda, and who judges.
#pragma once

#include <cstdint>
#include <string>

#include "agenda.h"
#include "base/random.h"
#include "daemon_process.h"
#include "judge.h"
#include "lobby_book.h"
#include "peer_links.h"
#include "weather.h"

namespace muster::storm {

// The daemon's secrets. Attackers with a valid one are part of the storm.
struct Secrets {
    std::string server_token = "storm-server-token-0123456789";
    std::string matchmaker_token = "storm-matchmaker-token-0123456789";
    std::string admin_token = "storm-admin-token-0123456789";
    std::string player_key = "storm-player-key-0123456789-0123456789";
};

// How fast honest peers must be. The daemon's settings say the same.
struct Pace {
    Span heartbeat = 1s;
    Span reconnect_most = 500ms;
    Span acknowledgement = 4s;  // of an offer; then it is another's
    Span word_most = 900ms;     // of running time: what it has to hear at once, it has heard by then
    Span old_link_most = 5s;    // of running time: until then the daemon may think that a peer's old link lives
};

// One thread.
struct Stage {
    bench::PeerLinks& links;
    Agenda& agenda;
    Weather& weather;
    Judge& judge;
    LobbyBook& book;
    Random random;
    Secrets secrets{};
    Pace pace{};
    Ports ports{};           // 0 while the daemon is away
    std::uint64_t life = 0;  // of the daemon, counted from 1

    Span some(Span least, Span most) { return Span(random.between(least.count(), most.count())); }
};

}  // namespace muster::storm
