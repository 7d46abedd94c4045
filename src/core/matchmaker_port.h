// What matchmakers say, and what they are answered: the matchmaker port's side of core.
#pragma once

#include <string_view>
#include <utility>

#include "base/function.h"
#include "base/issued_time.h"
#include "core/fleet.h"
#include "core/link_table.h"
#include "core/matches.h"
#include "core/matchmakers.h"
#include "core/refused_registrations.h"
#include "core/replies.h"
#include "core/wrong_secrets.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/peer_frame.h"

namespace muster {

// Game thread only.
class MatchmakerPort {
public:
    using TokenCheck = Function<bool(std::string_view)>;

    MatchmakerPort(LinkTable& links, Replies& replies, Matchmakers& matchmakers, Fleet& fleet, Matches& matches,
                   IssuedTime& issued, WrongSecrets& wrong_secrets, RefusedRegistrations& refused,
                   TokenCheck token_check);

    void configure(TokenCheck token_check) { token_check_ = std::move(token_check); }

    // A frame of a greeted link, or a handshake: the caller has judged that much.
    Result<void, WireError> frame(const Pass& pass, Link& link, const PeerFrame& frame);

private:
    struct Visitor;

    void handshake(const Pass& pass, Link& link, const MatchmakerHandshake& hello);
    MatchmakerHandshakeResponse::Accepted welcome(const Pass& pass, const Matchmaker& matchmaker) const;

    LinkTable& links_;
    Replies& replies_;
    Matchmakers& matchmakers_;
    Fleet& fleet_;
    Matches& matches_;
    IssuedTime& issued_;
    WrongSecrets& wrong_secrets_;
    RefusedRegistrations& refused_;
    TokenCheck token_check_;
};

}  // namespace muster
