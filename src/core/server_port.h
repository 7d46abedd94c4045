// What game servers say, and what they are answered: the server port's side of core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "base/function.h"
#include "base/ids.h"
#include "base/issued_time.h"
#include "base/time.h"
#include "core/fleet.h"
#include "core/ledger.h"
#include "core/link_table.h"
#include "core/matches.h"
#include "core/refused_registrations.h"
#include "core/replies.h"
#include "core/wrong_secrets.h"
#include "protocol/peer_frame.h"
#include "protocol/server_messages.h"
#include "runtime/timers.h"

namespace muster {

// Game thread only.
class ServerPort {
public:
    // Judges a handshake's token.
    using TokenCheck = Function<bool(std::string_view)>;

    // All of them outlive the port.
    struct Parts {
        LinkTable& links;
        Replies& replies;
        Ledger& ledger;
        Fleet& fleet;
        Matches& matches;
        IssuedTime& issued;
        Timers& timers;
        WrongSecrets& wrong_secrets;
        RefusedRegistrations& refused;
    };

    // Of one link. With this many answers waiting there, a report that was made before waits no more: "Store
    // unavailable".
    static constexpr std::size_t repeats_beside_max = 1'024;

    ServerPort(const Parts& parts, TokenCheck token_check);

    void configure(TokenCheck token_check) { token_check_ = std::move(token_check); }

    // Whether the link may speak here: it shows the token, or has proven who it is and needs no secret that all share
    // (S-2).
    bool accepts(const Link& link, std::string_view token) { return link.proven || token_check_(token); }

    // A frame of a greeted link, or a handshake: the caller has judged that much. Null, or why its bytes are wrong.
    Result<void, WireError> frame(const Pass& pass, Link& link, const PeerFrame& frame);

    // The server of `link` was removed for its silence: the link hears so at its next frame, or is closed one timeout
    // later.
    void timed_out(ConnectionId link);

private:
    struct Visitor;
    // Of one link: how many wishes the promise under way answers, and how many came since.
    struct DrainWishes {
        std::size_t promised = 0;
        std::size_t later = 0;
    };

    void handshake(const Pass& pass, Link& link, const ServerHandshake& hello);
    void heartbeat(const Pass& pass, Link& link, const ServerHeartbeat& beat, const PeerFrame& frame);
    void set_draining(const Pass& pass, Link& link, const SetDraining& wish);
    void promise_status(ConnectionId link, ServerId named);
    void tell_status(ConnectionId link, ServerId named, Kept kept);
    // It goes for good; `code` is of the message that said so.
    void leave(const Pass& pass, Link& link, ServerId server, Code code, Reason reason);
    // The server that the link speaks for, if it names itself rightly.
    const Server* speaker(const Link& link, ServerId named) const { return fleet_.held_by(link.id, named); }

    LinkTable& links_;
    Replies& replies_;
    Ledger& ledger_;
    Fleet& fleet_;
    Matches& matches_;
    IssuedTime& issued_;
    Timers& timers_;
    WrongSecrets& wrong_secrets_;
    RefusedRegistrations& refused_;
    TokenCheck token_check_;
    std::map<ConnectionId, DrainWishes> drains_;  // whose promise is under way
};

}  // namespace muster
