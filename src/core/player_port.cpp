#include "core/player_port.h"

#include <algorithm>

#include "base/utf8.h"

namespace muster {
namespace {

bool is_player_name(std::string_view name) {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
    // U+0080 … U+009F are control characters too: 0xC2 and then 0x80 … 0x9F.
    for (std::size_t i = 0; i + 1 < name.size(); ++i) {
        const auto second = static_cast<unsigned char>(name[i + 1]);
        if (name[i] == '\xC2' && second >= 0x80 && second <= 0x9F) return false;
    }
    return !name.empty() && name.size() <= NameText::size_max && is_utf8(name) &&
           std::none_of(name.begin(), name.end(), is_control);
}

std::int64_t us_of(Time time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

}  // namespace

PlayerPort::PlayerPort(const Parts& parts, CredentialCheck check)
    : clock_(parts.clock),
      time_(parts.time),
      links_(parts.links),
      players_(parts.players),
      world_(parts.world),
      notices_(parts.notices),
      accounts_(parts.accounts),
      issued_(parts.issued),
      wrong_secrets_(parts.wrong_secrets),
      check_(std::move(check)),
      unix_less_monotonic_us_(parts.wall.value * 1'000 - us_of(parts.clock.now())) {}

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
    const Players::Place place = players_.of(link);
    // A session that ended closed its link with its last word: only a login comes here without one.
    if (link.greeted && place == Sessions::none) return {};
    return visit_inbound<Port::players>(links_.order(Port::players), frame.code, frame.payload,
                                        Visitor{*this, pass, link, frame, place});
}

void PlayerPort::login(const Pass& pass, Link& link, const PlayerLogin& login) {
    const auto account = judge(pass, login);
    if (!account) {
        players_.login_refused(account.error());
        const PlayerLoginResponse refused{Refused{ErrorText(text(account.error()))}};
        if (account.error() == Refusal::invalid_credential) return wrong_secrets_.refuse(pass, link, refused);
        links_.send(link.id, refused);
        return links_.close(link);
    }
    const ConnectionId id = link.id;
    const auto place =
        players_.login(pass, link, login.player_name.view(), account->id, login.resume_token.view()).place;
    if (account->named) return welcome(pass, id);
    players_.set_unanswered(place, true);
    accounts_.when_kept(login.player_name.view(), [this, id](bool kept) {
        const Pass now{time_.now(), time_.running()};
        kept ? welcome(now, id) : turn_away(now, id);
    });
}

void PlayerPort::welcome(const Pass& pass, ConnectionId id) {
    const Link* link = links_.find(id);
    const Players::Place place = link && !link->closing ? players_.of(*link) : Sessions::none;
    if (place == Sessions::none) return;  // gone, or replaced, before its answer
    const AccountId player = players_.sessions().at(place).player;
    links_.send(
        id, PlayerLoginResponse{PlayerLoginResponse::Accepted{player, ResumeTokenText(players_.resume_token(place))}});
    players_.set_unanswered(place, false);
    world_.tell(pass, id);
    notices_.player_came(player);
}

void PlayerPort::turn_away(const Pass& pass, ConnectionId id) {
    Link* link = links_.find(id);
    if (!link || link->closing) return;
    players_.login_refused(Refusal::store_unavailable);
    links_.send(id, PlayerLoginResponse{Refused{ErrorText(text(Refusal::store_unavailable))}});
    links_.close(*link);
    players_.link_closed(pass, *link, text(Refusal::store_unavailable));
}

// The checks of P-1, in their order.
Result<PlayerPort::Judged, Refusal> PlayerPort::judge(const Pass& pass, const PlayerLogin& login) {
    if (shutting_down_) return Failure(Refusal::server_shutting_down);
    const std::string_view name = login.player_name.view();
    const auto named = check_(name, login.credential.view(), issued_.at(pass.now));
    if (!named) return Failure(named.error());
    if (!is_player_name(name)) return Failure(Refusal::invalid_name);
    if (*named) return Judged{**named, true};
    return Judged{accounts_.of(name), false};
}

std::int64_t PlayerPort::stamp(Time time) const {
    return unix_less_monotonic_us_ + us_of(time);
}

void PlayerPort::end_of_pass() {
    if (clock_answers_.empty()) return;
    const Time now = clock_.now();
    for (const ClockAnswer& answer : clock_answers_) {
        links_.send(answer.to, ClockSyncReply{answer.client_send_us, stamp(answer.received),
                                              stamp(std::max(now, answer.received))});
    }
    clock_answers_.clear();
}

}  // namespace muster
