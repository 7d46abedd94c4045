// One lobby's request for a server, and the match that comes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/records.h"
#include "core/replies.h"
#include "core/wrong_tokens.h"
#include "runtime/timer_id.h"

namespace muster {

// Times without a note are real time.
struct Match {
    MatchRecord record;        // what is, or will be, durable
    std::uint64_t serial = 0;  // of the request: a failed lobby may be asked for again
    Time requested;
    std::string request_id;  // of the request that began it

    // While a server is sought.
    std::vector<ServerId> tried;    // one offer to each; the latest is to record.server
    bool sent = false;              // that one has left: its record is durable
    bool offer_unanswered = false;  // one of them timed out
    std::vector<ReplyTo> asks;      // who waits for the answer
    TimerId limit;                  // of their wait, whatever happens
    TimerId offer;                  // ends the offer; running time

    // From the acknowledgement on.
    bool answered = false;  // a success has left on a link of its matchmaker, in this run or perhaps in the last
    bool promised = false;  // one was answered to anybody, in this run or perhaps in the last
    std::uint32_t reports_before = 0;  // load reports of its server before it acknowledged
    Time token_expires{};
    TimerId expiry;
    TimerId look;                 // whether anybody came, while it is ready; running time
    std::vector<AccountId> used;  // accounts let in, those still being written too
    WrongTokens wrong_tokens;

    // After a restart: its server has not yet shown that it still holds it.
    enum class Doubt : std::uint8_t {
        none,
        to_be_asked,    // when it is back
        asked,          // and has not answered
        to_be_counted,  // once its load report covers all that it is known to hold
    };
    Doubt doubt = Doubt::none;

    std::size_t offers() const { return tried.size(); }
    bool offering() const { return record.state == MatchState::offering; }
    bool doubted() const { return doubt != Doubt::none; }
    LobbyId lobby() const { return record.lobby; }
};

}  // namespace muster
