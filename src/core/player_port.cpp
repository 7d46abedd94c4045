#include "core/player_port.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "core/player_name.h"

namespace muster {
namespace {

std::int64_t us_of(Duration time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

}  // namespace

PlayerPort::PlayerPort(const Parts& parts, CredentialCheck check, std::int32_t logins_per_minute)
    : clock_(parts.clock),
      time_(parts.time),
      log_(parts.log),
      links_(parts.links),
      players_(parts.players),
      world_(parts.world),
      notices_(parts.notices),
      accounts_(parts.accounts),
      issued_(parts.issued),
      wrong_secrets_(parts.wrong_secrets),
      blocks_(parts.blocks),
      check_(std::move(check)),
      login_rate_(logins_per_minute) {}

struct PlayerPort::Visitor {
    PlayerPort& port;
    const Pass& pass;
    Link& link;
    const PeerFrame& frame;
    Players::Place place;

    // No sign of a person (P-4).
    void operator()(const PingEcho&) const {
        heard();
        port.players_.echo(pass, place, frame.received);
    }
    void operator()(const EntityHeartbeatAnswer& answer) const {
        heard();
        port.players_.heartbeat_answered(place, answer);
    }
    void operator()(const ClockSync& question) const {
        heard();
        port.clock_answers_.push_back({link.id, question.client_send_us, frame.received});
    }

    // Everything else is.
    void operator()(const PlayerLogin& login) const { port.login(pass, link, login); }
    void operator()(const PingRequest&) const {
        active();
        port.links_.send(link.id, PingReply{});
    }
    void operator()(const PlayerActivity&) const { active(); }
    void operator()(const GameMessage& message) const {
        active();
        if (port.game_) port.game_(port.players_.sessions().at(place).player, message);
    }
    void operator()(const PlayerLogout&) const { port.players_.logout(pass, place); }

private:
    void heard() const { port.players_.heard(pass, place); }
    void active() const {
        heard();
        port.players_.active(pass, place);
    }
};

Result<void, WireError> PlayerPort::frame(const Pass& pass, Link& link, const PeerFrame& frame) {
    if (const auto pending = pending_.find(link.id); pending != pending_.end())
        return hold(link, pending->second, frame);
    const Players::Place place = players_.of(link);
    // A session that ended closed its link with its last word: only a login comes here without one.
    if (link.greeted && place == Sessions::none) return {};
    return visit_inbound<Port::players>(links_.order(Port::players), frame.code, frame.payload,
                                        Visitor{*this, pass, link, frame, place});
}

// The session begins when its account is kept: nobody counts, hears of or is told what the disk may still refuse.
void PlayerPort::login(const Pass& pass, Link& link, const PlayerLogin& login) {
    const auto account = judge(login);
    if (!account) return refuse_login(pass, link, account.error());
    if (*account) return begin_session(pass, link, **account, login.player_name, login.resume_token);
    if (!accounts_.has_room(login.player_name.view())) return refuse_login(pass, link, Refusal::store_unavailable);
    links_.greeted(link);
    pending_[link.id] = {login.player_name, login.resume_token, {}};
    accounts_.keep(login.player_name.view(),
                   [this, id = link.id](std::optional<AccountId> kept) { account_settled(id, kept); });
}

// The checks of P-1, in their order. A credential is good until a date: what counts is the date now, not the time we
// issue, which may run behind or ahead of it for long.
Result<std::optional<AccountId>, Refusal> PlayerPort::judge(const PlayerLogin& login) {
    if (shutting_down_) return Failure(Refusal::server_shutting_down);
    const std::string_view name = login.player_name.view();
    const auto named = check_(name, login.credential.view(),
                              planted(Bug::credential_by_issued_time) ? issued_.at(clock_.now()) : clock_.wall());
    if (!named) return Failure(named.error());
    if (!is_player_name(name)) return Failure(Refusal::invalid_name);
    if (blocks_.has_name(name, issued_.at(time_.now()))) return Failure(Refusal::blocked);
    return *named ? *named : accounts_.find(name);
}

void PlayerPort::begin_session(const Pass& pass, Link& link, AccountId player, const NameText& name,
                               const ResumeTokenText& resume_token) {
    const UnixMs date = issued_.at(pass.now);
    if (blocks_.has_account(player, date) || blocks_.has_name(name.view(), date))
        return refuse_login(pass, link, Refusal::blocked);
    if (!planted(Bug::logins_unlimited) && !login_rate_.allow(pass.now, player)) {
        tell_too_many(pass, link, player);
        return refuse_login(pass, link, Refusal::too_many_logins);
    }
    const ConnectionId id = link.id;
    const auto place = players_.login(pass, link, name.view(), player, resume_token.view()).place;
    links_.send(
        id, PlayerLoginResponse{PlayerLoginResponse::Accepted{player, ResumeTokenText(players_.resume_token(place))}});
    world_.tell(pass, id);
    notices_.player_came(player);
}

void PlayerPort::tell_too_many(const Pass& pass, const Link& link, AccountId player) {
    const AddressMinutes::Counts from = too_many_logins_.add(pass.running, link.peer);
    if (from.now > 1) return;
    log_.with(
        LogLevel::warning,
        {{"player", player.value}, {"peer", link.peer.to_string()}, {"refused_in_the_minute_before", from.before}},
        "Refused a login: {}", text(Refusal::too_many_logins));
}

void PlayerPort::refuse_login(const Pass& pass, Link& link, Refusal why) {
    players_.login_refused(why);
    const PlayerLoginResponse refused{Refused{ErrorText(text(why))}};
    if (why == Refusal::invalid_credential) return wrong_secrets_.refuse(pass, link, refused);
    links_.send(link.id, refused);
    links_.close(link);
}

Result<void, WireError> PlayerPort::hold(Link& link, PendingLogin& pending, const PeerFrame& frame) {
    const auto read =
        visit_inbound<Port::players>(links_.order(Port::players), frame.code, frame.payload, [](const auto&) {});
    const bool too_many = pending.said.size() == held_frames_max;
    if (read && !too_many && frame.code != PlayerLogout::code) {
        pending.said.push_back({frame.code, {frame.payload.begin(), frame.payload.end()}, frame.received});
        return {};
    }
    pending_.erase(link.id);
    if (!read) return read;
    if (too_many) links_.send(link.id, PlayerLoginResponse{Refused{ErrorText(text(Reason::too_many_messages))}});
    links_.close(link);
    return {};
}

void PlayerPort::account_settled(ConnectionId id, std::optional<AccountId> account) {
    const auto pending = pending_.extract(id);
    Link* link = links_.find(id);
    if (pending.empty() || !link || link->closing) return;  // gone before its answer
    const Pass pass = time_.pass();
    if (!account) return refuse_login(pass, *link, Refusal::store_unavailable);
    begin_session(pass, *link, *account, pending.mapped().name, pending.mapped().resume_token);
    for (const HeldFrame& said : pending.mapped().said) {
        link = links_.find(id);
        if (!link || link->closing) return;
        const auto heard = frame(pass, *link, PeerFrame{said.code, said.payload, said.received, 0});
        MUSTER_CHECK(heard.has_value(), "a frame was read before it was held");
    }
}

void PlayerPort::end_of_pass() {
    if (clock_answers_.empty()) return;
    const Time now = clock_.now();
    for (const ClockAnswer& answer : clock_answers_) {
        const Time sent = std::max(now, answer.received);
        const std::int64_t sent_us =
            planted(Bug::clock_sync_by_the_date) ? clock_.wall().value * 1'000 : issued_.us_at(sent);
        links_.send(answer.to, ClockSyncReply{answer.client_send_us, sent_us - us_of(sent - answer.received), sent_us});
    }
    clock_answers_.clear();
}

}  // namespace muster
