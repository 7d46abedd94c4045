// What players say, and what they are answered: the player port's side of core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/function.h"
#include "base/ids.h"
#include "base/issued_time.h"
#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "core/accounts.h"
#include "core/address_minutes.h"
#include "core/blocks.h"
#include "core/link_table.h"
#include "core/login_rate.h"
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
    // Judges a login's credential by the machine's date. The account that it names, or none when the name alone decides
    // (`open`).
    using CredentialCheck = Function<Result<std::optional<AccountId>, Refusal>(
        std::string_view name, std::string_view credential, UnixMs date)>;
    // Codes 1000–4095, for a program that embeds the library. The payload is borrowed for the call.
    using GameHandler = Function<void(AccountId from, const GameMessage& message)>;

    // All of them outlive the port.
    struct Parts {
        const Clock& clock;
        const LoopTime& time;
        Log& log;
        LinkTable& links;
        Players& players;
        World& world;
        MatchNotices& notices;
        Accounts& accounts;
        IssuedTime& issued;
        WrongSecrets& wrong_secrets;
        const Blocks& blocks;
    };

    PlayerPort(const Parts& parts, CredentialCheck check, std::int32_t logins_per_minute);

    void configure(CredentialCheck check, std::int32_t logins_per_minute) {
        check_ = std::move(check);
        login_rate_.configure(logins_per_minute);
    }
    void on_game_message(GameHandler handler) { game_ = std::move(handler); }

    // A frame of a greeted link, or a login: the caller has judged that much. Why its bytes are wrong, if they are.
    Result<void, WireError> frame(const Pass& pass, Link& link, const PeerFrame& frame);

    // The link is gone: a login that waits there is forgotten, with what was said behind it.
    void closed(ConnectionId link) { pending_.erase(link); }
    std::size_t logins_waiting() const { return pending_.size(); }

    // At the very end of a pass: clock answers leave with a stamp that is as late as can be.
    void end_of_pass();

    void shut_down() { shutting_down_ = true; }

    // What a client may say before its login is answered; more closes the link.
    static constexpr std::size_t held_frames_max = 64;

private:
    struct Visitor;
    struct HeldFrame {
        Code code = 0;
        std::vector<std::byte> payload;
        Time received;
    };
    // A login whose account is being written down. What its client says meanwhile is heard after the answer (W-8).
    struct PendingLogin {
        NameText name;
        ResumeTokenText resume_token;
        std::vector<HeldFrame> said;
    };
    struct ClockAnswer {
        ConnectionId to;
        std::int64_t client_send_us;
        Time received;
    };

    void login(const Pass& pass, Link& link, const PlayerLogin& login);
    // The account to log in, or none when the name has no account yet.
    Result<std::optional<AccountId>, Refusal> judge(const PlayerLogin& login);
    void begin_session(const Pass& pass, Link& link, AccountId player, const NameText& name,
                       const ResumeTokenText& resume_token);
    void refuse_login(const Pass& pass, Link& link, Refusal why);
    void tell_too_many(const Pass& pass, const Link& link, AccountId player);
    Result<void, WireError> hold(Link& link, PendingLogin& pending, const PeerFrame& frame);
    void account_settled(ConnectionId id, std::optional<AccountId> account);

    const Clock& clock_;
    const LoopTime& time_;
    Log& log_;
    LinkTable& links_;
    Players& players_;
    World& world_;
    MatchNotices& notices_;
    Accounts& accounts_;
    IssuedTime& issued_;
    WrongSecrets& wrong_secrets_;
    const Blocks& blocks_;
    CredentialCheck check_;
    LoginRate login_rate_;
    AddressMinutes too_many_logins_;
    GameHandler game_;
    std::map<ConnectionId, PendingLogin> pending_;
    std::vector<ClockAnswer> clock_answers_;
    bool shutting_down_ = false;
};

}  // namespace muster
