// What players say, and what they are answered: the player port's side of core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/function.h"
#include "base/ids.h"
#include "base/issued_time.h"
#include "base/result.h"
#include "base/time.h"
#include "core/accounts.h"
#include "core/link_table.h"
#include "core/match_notices.h"
#include "core/players.h"
#include "core/world.h"
#include "core/wrong_secrets.h"
#include "protocol/dispatch.h"
#include "protocol/error_texts.h"
#include "protocol/peer_frame.h"
#include "protocol/player_messages.h"
#include "runtime/loop_time.h"

namespace muster {

// Game thread only.
class PlayerPort {
public:
    // Judges a login's credential at this time. The account that it names, or none when the name alone decides
    // (`open`).
    using CredentialCheck = Function<Result<std::optional<AccountId>, Refusal>(
        std::string_view name, std::string_view credential, UnixMs now)>;
    // Codes 1000–4095, for a program that embeds the library. The payload is borrowed for the call.
    using GameHandler = Function<void(AccountId from, const GameMessage& message)>;

    // All of them outlive the port.
    struct Parts {
        const Clock& clock;
        const LoopTime& time;
        LinkTable& links;
        Players& players;
        World& world;
        MatchNotices& notices;
        Accounts& accounts;
        IssuedTime& issued;
        WrongSecrets& wrong_secrets;
        UnixMs wall;  // the machine's date now
    };

    PlayerPort(const Parts& parts, CredentialCheck check);

    void configure(CredentialCheck check) { check_ = std::move(check); }
    void on_game_message(GameHandler handler) { game_ = std::move(handler); }

    // A frame of a greeted link, or a login: the caller has judged that much. Why its bytes are wrong, if they are.
    Result<void, WireError> frame(const Pass& pass, Link& link, const PeerFrame& frame);

    // At the very end of a pass: clock answers leave with a stamp that is as late as can be.
    void end_of_pass();

    void shut_down() { shutting_down_ = true; }

private:
    struct Visitor;
    struct Judged {
        AccountId id;
        bool named = false;  // by the credential; else by us
    };
    struct ClockAnswer {
        ConnectionId to;
        std::int64_t client_send_us;
        Time received;
    };

    std::int64_t stamp(Time time) const;
    void login(const Pass& pass, Link& link, const PlayerLogin& login);
    Result<Judged, Refusal> judge(const Pass& pass, const PlayerLogin& login);
    // The answers to a login whose session is there.
    void welcome(const Pass& pass, ConnectionId id);
    void turn_away(const Pass& pass, ConnectionId id);

    const Clock& clock_;
    const LoopTime& time_;
    LinkTable& links_;
    Players& players_;
    World& world_;
    MatchNotices& notices_;
    Accounts& accounts_;
    IssuedTime& issued_;
    WrongSecrets& wrong_secrets_;
    CredentialCheck check_;
    GameHandler game_;
    // Unix time less monotonic time, as it was at the start: a clock for players that no step of the date disturbs.
    const std::int64_t unix_less_monotonic_us_;
    std::vector<ClockAnswer> clock_answers_;
    bool shutting_down_ = false;
};

}  // namespace muster
