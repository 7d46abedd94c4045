// Matches that a restart found: each is in doubt until its server shows that it holds it (faults 65 and 72).
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "base/ids.h"
#include "core/fleet.h"
#include "core/link_table.h"
#include "core/match_table.h"
#include "protocol/server_messages.h"
#include "runtime/timers.h"

namespace muster {

// Game thread only.
class Doubts {
public:
    // All of them outlive the doubts.
    struct Parts {
        Timers& timers;
        LinkTable& links;
        Fleet& fleet;
        MatchTable& matches;
    };

    // A server is asked about so many matches at once.
    static constexpr std::size_t asked_max = 500;

    explicit Doubts(const Parts& parts) : parts_(parts) {}

    // Of a match as the last run left it. One that was ready is not offered again, since people may be playing: a
    // server that starts each match it is offered would start it anew.
    void begin(Match& match) const {
        match.doubt =
            match.record.state == MatchState::allocated ? Match::Doubt::to_be_asked : Match::Doubt::to_be_counted;
    }

    // Whether the last run's answer left, nobody knows; perhaps it was a refusal, and the server was told to drop the
    // match. So the server is asked, if it is there: one that holds the match says yes again. Returns what it was
    // asked about now; the caller starts the timer match.offer of each, which ends the wait.
    std::vector<LobbyId> ask(ServerId id);
    // The server is away: what it was asked is asked again when it is back.
    void went_offline(ServerId id);
    // Whether the server has still to answer for one.
    bool awaits(ServerId id) const;
    // Matches that were ready, and that the server's load report counts: perhaps one was aborted in the last run and
    // the disk never heard of it, but a server that was told so counts fewer.
    std::vector<LobbyId> counted_on(ServerId id) const;

    // Its server holds the match.
    void end(Match& match) const {
        match.doubt = Match::Doubt::none;
        parts_.timers.cancel(match.offer);
        parts_.timers.cancel(match.limit);
    }
    // One that the server was asked about is settled. True when it is to be asked about the next ones: a look for them
    // goes through all that it holds, so once for many.
    bool settled(ServerId id) {
        if (++settled_[id] < asked_max / 2) return false;
        settled_.erase(id);
        return true;
    }
    // It registered anew, or is gone.
    void forget(ServerId id) { settled_.erase(id); }

private:
    const Parts parts_;
    std::map<ServerId, std::size_t> settled_;  // since the server was last asked
};

}  // namespace muster
