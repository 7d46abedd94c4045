#include "sim/player_actor.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "protocol/dispatch.h"
#include "protocol/error_texts.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

// A simple client's own alarm, set anew by each MSG_PING (P-2), and a while for the way.
constexpr Duration alarm_after = 30s + 500ms;
constexpr std::uint8_t success = 1;
constexpr Code own_message = 1'000;  // of the game

}  // namespace

// What Muster said.
struct PlayerActor::FromMuster {
    PlayerActor& player;

    void operator()(const PlayerLoginResponse& response) const {
        if (const auto* accepted = std::get_if<PlayerLoginResponse::Accepted>(&response.answer))
            player.welcome(*accepted);
        else if (std::get<Refused>(response.answer).error == text(Refusal::too_many_logins))
            player.limited_at_ = player.stage_.now();
    }
    void operator()(const Ping&) const { player.pinged(); }
    void operator()(const EntityHeartbeat& request) const { player.asked(request); }
    void operator()(const TimeChange& part) const { player.clock_.follow(part); }
    void operator()(const TimeUpdate& whole) const { player.clock_.follow(whole); }
    void operator()(const ServerClose&) const { player.logged_in_ = false; }
    void operator()(const PingReply&) const {}
    void operator()(const ClockSyncReply&) const {}
    void operator()(const PlayerMatchStart&) const {}
    void operator()(const PlayerMatchAborted&) const {}
};

PlayerActor::PlayerActor(Stage& stage, Random random, std::string name)
    : stage_(stage), random_(random), name_(std::move(name)) {}

void PlayerActor::start(Duration delay) {
    stage_.agenda.in(delay, [this] { connect(); });
}

void PlayerActor::connect() {
    if (link_ != 0) return;
    if (stage_.now() < return_at_) return stage_.agenda.at(return_at_, [this] { connect(); });
    log_in(token_to_show());
}

std::string PlayerActor::token_to_show() {
    if (!chance(habits().odd_token)) return token_;
    switch (random_.below(3)) {
        case 0:
            return "";
        case 1:
            return old_token_;
        default:
            return "0123456789abcdef0123456789abcdef";
    }
}

// From a new link. An older one stays as it is: Muster has to see to it.
void PlayerActor::log_in(const std::string& token) {
    ++session_;
    logged_in_ = false;
    clock_ = {};
    last_ping_ = stage_.now();
    link_ = stage_.network.connect(*this, Port::players, IpAddress::v4({10, 2, 0, 1}));
    if (!chance(habits().mute)) send(PlayerLogin{NameText(name_), "", ResumeTokenText(token)});
    act_next();
}

void PlayerActor::link_down(LinkNumber link) {
    if (link != link_) return;
    link_ = 0;
    logged_in_ = false;
    come_back();
}

void PlayerActor::drop_link(bool silently) {
    if (link_ == 0) return;
    const LinkNumber link = std::exchange(link_, 0);
    logged_in_ = false;
    if (silently) {
        stage_.network.abandon(link);
    } else {
        stage_.network.close(link);
    }
    come_back();
}

void PlayerActor::come_back() {
    const Duration grace = stage_.conditions.rules.resume_grace;
    return_at_ = stage_.now() + (chance(habits().late_return) ? between(random_, grace - 2s, grace + 10s)
                                                              : between(random_, 10ms, 3s));
    stage_.agenda.at(return_at_, [this] { connect(); });
}

void PlayerActor::welcome(const PlayerLoginResponse::Accepted& accepted) {
    logged_in_ = true;
    if (id_ != accepted.player) stage_.accounts.push_back(accepted.player);
    id_ = accepted.player;
    old_token_ = std::exchange(token_, accepted.resume_token.string());
}

void PlayerActor::pinged() {
    longest_wait_ = std::max(longest_wait_, stage_.now() - last_ping_);
    last_ping_ = stage_.now();
    if (stage_.now() < deaf_until_) return;
    if (!chance(habits().late_echo)) return send(PingEcho{});
    stage_.agenda.in(between(random_, 1s, 45s), [this, session = session_] {
        if (session == session_) send(PingEcho{});
    });
}

void PlayerActor::asked(const EntityHeartbeat& request) {
    if (stage_.now() < dazed_until_ || chance(habits().no_answer)) return;
    EntityHeartbeatAnswer answer{request.request_id, success};
    if (chance(habits().bad_answer)) {
        if (chance(0.5)) answer.status = static_cast<std::uint8_t>(random_.between(2, 255));
        if (chance(0.5)) answer.request_id += static_cast<std::uint32_t>(random_.between(-2, 2));
        send(answer);
        if (chance(0.5)) send(EntityHeartbeatAnswer{request.request_id, success});
        return;
    }
    answer_later(answer, chance(habits().late_answer) ? between(random_, 3s, 12s) : between(random_, 0ms, 20ms));
}

void PlayerActor::answer_later(const EntityHeartbeatAnswer& answer, Duration delay) {
    stage_.agenda.in(delay, [this, session = session_, answer] {
        if (session == session_) send(answer);
    });
}

void PlayerActor::act_next() {
    stage_.agenda.in(between(random_, habits().act_min, habits().act_max), [this, session = session_] {
        if (session != session_ || link_ == 0) return;
        act();
        if (session == session_ && link_ != 0) act_next();
    });
}

// What a player may come to; most often nothing of it.
void PlayerActor::act() {
    const Time now = stage_.now();
    if (now - last_ping_ > alarm_after) return drop_link(true);
    if (chance(habits().drop)) return drop_link(chance(0.5));
    if (chance(habits().elsewhere)) return log_in("");
    if (chance(habits().takeover)) return log_in(token_to_show());
    if (chance(habits().deaf)) deaf_until_ = now + between(random_, 10s, 100s);
    if (chance(habits().dazed)) dazed_until_ = now + between(random_, 3s, 30s);
    if (chance(habits().idle)) idle_until_ = now + between(random_, 10s, habits().idle_max);
    if (chance(habits().garbage)) return misspeak();
    if (chance(habits().logout)) return send(PlayerLogout{});
    if (logged_in_ && now >= idle_until_) do_something();
    if (logged_in_ && chance(0.2)) send(ClockSync{now.time_since_epoch() / 1us});
}

void PlayerActor::do_something() {
    switch (random_.below(3)) {
        case 0:
            return send(PlayerActivity{});
        case 1:
            return send(PingRequest{});
        default:
            // One of the game's own, with nothing in it.
            std::vector<std::byte> bytes{std::byte{0}, std::byte{2}, std::byte{own_message >> 8},
                                         std::byte{own_message & 0xFF}};
            if (link_ != 0) stage_.network.send(link_, std::move(bytes));
    }
}

// A second login, another port's words, or noise.
void PlayerActor::misspeak() {
    if (link_ == 0) return;
    if (chance(0.3)) return send(PlayerLogin{NameText(name_), "", ResumeTokenText(token_)});
    std::vector<std::byte> bytes(random_.below(12) + 4);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_.below(256));
    bytes[0] = std::byte{0};
    bytes[1] = static_cast<std::byte>(bytes.size() - 2);
    stage_.network.send(link_, std::move(bytes));
}

void PlayerActor::frame(LinkNumber link, Code code, std::span<const std::byte> payload) {
    if (link != link_) return;
    static_cast<void>(visit_outbound<Port::players>(ByteOrder::big, code, payload, FromMuster{*this}));
}

void PlayerActor::calm_down() {
    idle_until_ = deaf_until_ = dazed_until_ = return_at_ = last_ping_ = stage_.now();
    longest_wait_ = {};
    connect();
}

}  // namespace muster::sim
