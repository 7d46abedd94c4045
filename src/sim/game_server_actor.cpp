#include "sim/game_server_actor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "protocol/dispatch.h"
#include "protocol/error_texts.h"
#include "sim/process.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration heartbeat_every = 10s;
// Without an acknowledgement for so long the link is dead, whatever the network says.
constexpr Duration give_up_after = 24s;

}  // namespace

// What Muster said.
struct GameServerActor::FromMuster {
    GameServerActor& server;

    void operator()(const ServerHandshakeResponse& response) const {
        if (const auto* accepted = std::get_if<ServerHandshakeResponse::Accepted>(&response.answer))
            server.greeted(accepted->server);
    }
    void operator()(const ServerHeartbeatAck& ack) const {
        server.last_ack_ = server.stage_.now();
        const auto* refused = std::get_if<Refused>(&ack.answer);
        if (refused && refused->error != text(Refusal::invalid_load_report)) server.drop_link();
    }
    void operator()(const AllocateMatch& offer) const { server.offered(offer); }
    void operator()(const AbortMatch& abort) const { server.running_.erase(abort.lobby); }
    void operator()(const ReadyForMatchResponse& response) const { answered(response.answer); }
    void operator()(const MatchResponse& response) const { answered(response.answer); }
    void answered(const Either<LobbyAccepted, LobbyRefused>& answer) const {
        const LobbyId lobby = std::visit([](const auto& form) { return form.lobby; }, answer);
        const Report report = server.answered_report(lobby);
        if (const auto* refused = std::get_if<LobbyRefused>(&answer)) {
            server.refused(report, refused->error.view());
        } else {
            server.reported(report);
        }
    }
    void operator()(const ValidateTokenResponse&) const {}
    void operator()(const ServerStatusNotice&) const {}
    void operator()(const ServerError&) const {}
    void operator()(const HostMessage auto&) const {}
};

GameServerActor::GameServerActor(Stage& stage, Random random, const GameServerTraits& traits)
    : stage_(stage), random_(random), traits_(traits), ip_(traits.ip.to_string()) {}

void GameServerActor::start(Duration delay) {
    stage_.agenda.in(delay, [this] { connect(); });
}

void GameServerActor::connect() {
    if (link_ != 0) return;
    if (stage_.now() < away_until_) return stage_.agenda.at(away_until_, [this] { connect(); });
    ++session_;
    reports_.clear();
    last_ack_ = stage_.now();
    link_ = stage_.network.connect(*this, Port::servers, traits_.ip);
    ServerHandshake hello{HandshakeTokenText(server_secret), GameEndpoint{ip_, traits_.port}, traits_.region,
                          traits_.max_matches};
    if (!stage_.calm && chance(habits().garbage)) hello.token = HandshakeTokenText("wrong");
    send(hello);
    beat();
}

// Full jitter: a crowd that lost its links together does not come back together.
void GameServerActor::connect_later(Duration most) {
    const Duration bound = std::min<Duration>(most, 250ms * (1 << std::min(failed_connects_, 5)));
    ++failed_connects_;
    stage_.agenda.in(between(random_, 10ms, std::max<Duration>(bound, 20ms)), [this] { connect(); });
}

void GameServerActor::link_down(LinkNumber link) {
    if (link != link_) return;
    link_ = 0;
    id_ = {};
    connect_later(5s);
}

void GameServerActor::drop_link() {
    if (link_ == 0) return;
    stage_.network.close(std::exchange(link_, 0));
    id_ = {};
    connect_later(5s);
}

void GameServerActor::greeted(ServerId id) {
    id_ = id;
    failed_connects_ = 0;
}

// One chain of heartbeats per link.
void GameServerActor::beat() {
    stage_.agenda.in(between(random_, heartbeat_every - 200ms, heartbeat_every + 200ms), [this, session = session_] {
        if (session != session_ || link_ == 0) return;
        if (stage_.now() - last_ack_ > give_up_after) return hang_up();
        if (registered()) send_beat();
        beat();
    });
}

void GameServerActor::send_beat() {
    ServerHeartbeat report{id_, static_cast<std::int32_t>(running_.size()),
                           static_cast<float>(random_.between(0, 1000)) / 10,
                           static_cast<float>(random_.between(0, 1000)) / 10};
    if (chance(habits().lie))
        report.match_count = static_cast<std::int32_t>(random_.between(0, traits_.max_matches + 1));
    if (chance(habits().bad_load)) {
        constexpr float nan = std::numeric_limits<float>::quiet_NaN();
        constexpr float infinity = std::numeric_limits<float>::infinity();
        constexpr float odd[] = {nan, infinity, -infinity, -0.5F, 100.5F};
        if (chance(0.3)) report.match_count = -1;
        (chance(0.5) ? report.cpu_percent : report.memory_percent) = odd[random_.below(std::size(odd))];
    }
    if (chance(habits().bad_load / 4)) report.server = ServerId(id_.value + 1);
    send(report);
    if (chance(habits().drain)) send(SetDraining{id_, chance(0.5)});
    if (stage_.calm) send(SetDraining{id_, false});
    if (chance(habits().stray_ack)) {
        const auto lobby = static_cast<std::int32_t>(random_.between(1, stage_.last_lobby + 1));
        send(AllocateMatchAck{chance(0.7), LobbyId(lobby)});
    }
    if (chance(habits().garbage)) misspeak();
}

void GameServerActor::offered(const AllocateMatch& offer) {
    stage_.rumours.push_back({offer.lobby, offer.token.string()});
    // Asked after a restart of Muster: who holds the match says so again.
    const auto known = running_.find(offer.lobby);
    if (known != running_.end() && known->second.acknowledged && known->second.token == offer.token.view())
        return send(AllocateMatchAck{true, offer.lobby});
    const ServerHabits& habit = habits();
    if (chance(habit.never)) return;
    Duration delay = between(random_, 1ms, habit.ack_max);
    if (chance(habit.late)) delay = between(random_, 4900ms, 9s);
    const bool accepts = !chance(habit.refuse);
    if (accepts) take(offer.lobby, offer.token.string(), delay);
    const std::uint32_t session = session_;
    const LobbyId lobby = offer.lobby;
    stage_.agenda.in(delay, [this, lobby, accepts, session] { acknowledge(lobby, accepts, session); });
    if (!chance(habit.twice)) return;
    const Duration again = between(random_, 0ms, 8s);
    const bool same = chance(0.8);
    stage_.agenda.in(delay + again,
                     [this, lobby, accepts, same, session] { acknowledge(lobby, same ? accepts : !accepts, session); });
}

void GameServerActor::acknowledge(LobbyId lobby, bool accepted, std::uint32_t session) {
    const auto match = running_.find(lobby);
    const bool waits = accepted && match != running_.end() && !match->second.acknowledged;
    if (session != session_) {
        if (waits) running_.erase(match);  // the offer went with its link
        return;
    }
    if (waits) match->second.acknowledged = true;
    send(AllocateMatchAck{accepted, lobby});
}

// It begins once it has acknowledged.
void GameServerActor::take(LobbyId lobby, const std::string& token, Duration acknowledged_in) {
    Running& match = running_[lobby];
    match = Running{token, Phase::accepted, 0, next_serial_++, false};
    const Duration begin = acknowledged_in + between(random_, 1ms, 3s);
    stage_.agenda.in(begin, [this, lobby, serial = match.serial] { play(lobby, serial); });
}

template <class M>
void GameServerActor::report(const M& message, bool ended) {
    const auto found = running_.find(message.lobby);
    reports_.push_back({message.lobby, found == running_.end() ? 0 : found->second.serial, ended});
    send(message);
}

// A match's next step on this server, and when the one after it comes.
void GameServerActor::play(LobbyId lobby, std::uint32_t serial) {
    const auto found = running_.find(lobby);
    if (found == running_.end() || found->second.serial != serial) return;
    const bool may_play = registered() && found->second.acknowledged;
    const Duration next = may_play ? play_on(lobby, found->second) : between(random_, 500ms, 2s);
    if (!running_.contains(lobby)) return;
    stage_.agenda.in(next, [this, lobby, serial] { play(lobby, serial); });
}

Duration GameServerActor::play_on(LobbyId lobby, Running& match) {
    const Duration play_time = between(random_, habits().play_min, habits().play_max);
    const Duration soon = between(random_, 20ms, 2s);
    if (traits_.seeds_only) {
        if (match.phase == Phase::accepted) {
            if (chance(0.7)) report(ReadyForMatch{id_, lobby, MatchTokenText(match.token)});
            match.phase = Phase::started;
            return play_time;
        }
        running_.erase(lobby);
        return {};
    }
    switch (match.phase) {
        case Phase::accepted:
            match.phase = Phase::ready;
            if (chance(habits().repeat / 2)) return soon;  // STARTED needs no READY
            report(ReadyForMatch{id_, lobby, MatchTokenText(match.token)});
            if (chance(habits().repeat)) report(ReadyForMatch{id_, lobby, MatchTokenText(match.token)});
            if (chance(habits().odd_token)) report(ReadyForMatch{id_, lobby, MatchTokenText("MATCH_1_look-alike")});
            return soon;
        case Phase::ready:
            validate(lobby, match);
            if (++match.validated < 4 || chance(0.3))
                return !stage_.calm && chance(0.03) ? between(random_, 105s, 122s) : soon;
            report(MatchStartedReport{id_, lobby});
            if (chance(habits().repeat)) report(MatchStartedReport{id_, lobby});
            match.phase = Phase::started;
            return play_time;
        case Phase::started:
            if (chance(habits().odd_token)) validate(lobby, match);
            match.phase = Phase::ending;
            [[fallthrough]];
        case Phase::ending:
            report(MatchEndedReport{id_, lobby}, true);
            if (chance(habits().repeat)) report(MatchEndedReport{id_, lobby}, true);
            if (chance(habits().repeat)) report(MatchStartedReport{id_, lobby});
            return 3s;  // said again until it is answered
    }
    return soon;
}

void GameServerActor::validate(LobbyId lobby, Running& match) {
    const std::int32_t first_account = lobby.value * 10;
    ValidateToken question{id_, lobby, AccountId(first_account + match.validated), MatchTokenText(match.token)};
    if (chance(habits().odd_token)) {
        switch (random_.below(5)) {
            case 0:  // again
                question.account = AccountId(first_account);
                break;
            case 1:  // on no list
                question.account = AccountId(first_account + 9);
                break;
            case 2:
                question.token = MatchTokenText(match.token + "0");
                break;
            case 3: {
                const Rumour& rumour = stage_.rumours[random_.below(stage_.rumours.size())];
                question.lobby = rumour.lobby;
                question.token = MatchTokenText(rumour.token);
                break;
            }
            default:
                question.server = ServerId(id_.value + 1);
        }
    }
    send(question);
}

// Answers about one lobby come in the order of its reports (W-8).
GameServerActor::Report GameServerActor::answered_report(LobbyId lobby) {
    const auto found =
        std::find_if(reports_.begin(), reports_.end(), [lobby](const Report& report) { return report.lobby == lobby; });
    if (found == reports_.end()) return {};
    const Report report = *found;
    reports_.erase(found);
    return report;
}

// Whoever is told that a match is not its own drops it.
void GameServerActor::refused(const Report& report, std::string_view error) {
    const bool lost = error == text(Refusal::match_not_found) || error == text(Refusal::server_not_allocated) ||
                      error == text(Refusal::match_already_ended);
    const auto found = running_.find(report.lobby);
    if (lost && found != running_.end() && found->second.serial == report.serial) running_.erase(found);
}

// An end that Muster has heard is the end here too.
void GameServerActor::reported(const Report& report) {
    const auto found = running_.find(report.lobby);
    if (report.ended && found != running_.end() && found->second.serial == report.serial) running_.erase(found);
}

void GameServerActor::frame(LinkNumber link, Code code, std::span<const std::byte> payload) {
    if (link != link_) return;
    static_cast<void>(visit_outbound<Port::servers>(ByteOrder::little, code, payload, FromMuster{*this}));
}

// From now on its matches come to their end soon.
void GameServerActor::calm_down() {
    away_until_ = stage_.now();
    for (auto& [lobby, match] : running_) {
        match.serial = next_serial_++;
        stage_.agenda.in(between(random_, 100ms, 5s), [this, id = lobby, serial = match.serial] { play(id, serial); });
    }
    connect();
}

void GameServerActor::reboot() {
    running_.clear();
    away_until_ = stage_.now() + between(random_, 100ms, 20s);
    if (link_ == 0) return;
    if (chance(0.5)) {
        drop_link();
    } else {
        hang_up();
    }
}

void GameServerActor::leave() {
    if (!registered()) return;
    send(ServerGoodbye{id_});
    running_.clear();
    away_until_ = stage_.now() + between(random_, 1s, 40s);
}

void GameServerActor::go_away(Duration by) {
    away_until_ = stage_.now() + by;
    hang_up();
}

void GameServerActor::move(RegionId region) {
    traits_.region = region;
    running_.clear();
    away_until_ = stage_.now() + between(random_, 100ms, 10s);
    drop_link();
}

void GameServerActor::hang_up() {
    if (link_ == 0) return;
    stage_.network.abandon(std::exchange(link_, 0));
    id_ = {};
    connect_later(5s);
}

void GameServerActor::misspeak() {
    if (link_ == 0) return;
    std::vector<std::byte> bytes(random_.below(12) + 4);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_.below(256));
    bytes[1] = std::byte{0};  // a length that soon is there
    stage_.network.send(link_, std::move(bytes));
}

}  // namespace muster::sim
