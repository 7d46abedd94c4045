#include "sim/matchmaker_actor.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "protocol/dispatch.h"
#include "protocol/error_texts.h"
#include "sim/process.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration heartbeat_every = 30s;
constexpr Duration give_up_after = 70s;
constexpr Duration patience = 30s;  // the seed's limit for an answer
constexpr int tries_most = 4;
constexpr Duration probe_time = 10s;

}  // namespace

// What Muster said.
struct MatchmakerActor::FromMuster {
    MatchmakerActor& matchmaker;

    void operator()(const MatchmakerHandshakeResponse& response) const {
        if (std::holds_alternative<MatchmakerHandshakeResponse::Accepted>(response.answer)) matchmaker.greeted();
    }
    void operator()(const AllocationResponse& answer) const { matchmaker.answered(answer); }
    void operator()(const MatchmakerHeartbeatAck&) const {}
    void operator()(const MatchEventNotice& notice) const { matchmaker.told(notice); }
    void operator()(const MatchPlayersResponse&) const {}
    void operator()(const MatchmakerError&) const {}
};

MatchmakerActor::MatchmakerActor(Stage& stage, Random random, std::string id, std::vector<RegionId> regions)
    : stage_(stage), random_(random), id_(std::move(id)), regions_(std::move(regions)) {}

void MatchmakerActor::start(Duration delay) {
    stage_.agenda.in(delay, [this] {
        connect();
        ask_next();
    });
}

void MatchmakerActor::connect() {
    if (link_ != 0) return;
    if (stage_.now() < away_until_) return stage_.agenda.at(away_until_, [this] { connect(); });
    ++session_;
    last_heard_ = stage_.now();
    link_ = stage_.network.connect(*this, Port::matchmakers, IpAddress::v4({10, 1, 0, 1}));
    send(MatchmakerHandshake{HandshakeTokenText(matchmaker_secret), MatchmakerIdText(id_), {regions_}});
    beat();
}

void MatchmakerActor::connect_later() {
    const Duration bound = std::min<Duration>(4s, 250ms * (1 << std::min(failed_connects_, 4)));
    ++failed_connects_;
    stage_.agenda.in(between(random_, 10ms, bound), [this] { connect(); });
}

void MatchmakerActor::link_down(LinkNumber link) {
    if (link != link_) return;
    link_ = 0;
    registered_ = false;
    connect_later();
}

void MatchmakerActor::drop_link(bool silently) {
    if (link_ == 0) return;
    const LinkNumber link = std::exchange(link_, 0);
    registered_ = false;
    if (silently) {
        stage_.network.abandon(link);
    } else {
        stage_.network.close(link);
    }
    connect_later();
}

// Back: what was not answered is asked again, and now and then what was.
void MatchmakerActor::greeted() {
    registered_ = true;
    failed_connects_ = 0;
    std::vector<LobbyId> again;
    for (const auto& [lobby, ask] : asks_) {
        if (ask.state == State::asked || chance(habits().repeat)) again.push_back(lobby);
    }
    for (const LobbyId lobby : again) ask(lobby);
}

void MatchmakerActor::beat() {
    stage_.agenda.in(between(random_, heartbeat_every - 5s, heartbeat_every), [this, session = session_] {
        if (session != session_ || link_ == 0) return;
        if (stage_.now() - last_heard_ > give_up_after) return drop_link(true);
        if (registered_) send(MatchmakerHeartbeat{});
        if (chance(habits().garbage)) misspeak();
        beat();
    });
}

// At chance moments, as often as the stage says.
void MatchmakerActor::ask_next() {
    const double per_minute = habits().asks_per_minute;
    if (per_minute <= 0) {
        if (!stage_.calm) stage_.agenda.in(1s, [this] { ask_next(); });
        return;
    }
    const double minutes = -std::log(1.0 - random_.unit()) / per_minute;
    const auto wait = std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::ratio<60>>(minutes));
    stage_.agenda.in(std::min<Duration>(wait, 60s), [this] {
        if (registered_ && habits().asks_per_minute > 0) ask_new();
        ask_next();
    });
}

void MatchmakerActor::ask_new() {
    if (chance(habits().odd)) return send(odd_request());
    const LobbyId lobby(++stage_.last_lobby);
    Ask& fresh = asks_[lobby];
    fresh.request = AllocationRequest{
        lobby, 6, 0, regions_[random_.below(regions_.size())], static_cast<std::int8_t>(random_.between(1, 6)), 1650};
    if (chance(habits().list / 2)) name_players(lobby);
    ask(lobby);
    if (chance(habits().list / 2)) name_players(lobby);
    if (chance(habits().repeat)) {
        stage_.agenda.in(between(random_, 0ms, 20s), [this, lobby] {
            if (asks_.contains(lobby)) ask(lobby);
        });
    }
    if (chance(habits().cancel)) {
        stage_.agenda.in(between(random_, 0ms, 30s), [this, lobby] {
            send(CancelMatch{lobby});
            if (chance(0.2)) send(CancelMatch{lobby});
        });
    }
}

// A lobby that is another's, over or impossible, a region that is not ours, nobody to play.
AllocationRequest MatchmakerActor::odd_request() {
    const auto lobby = static_cast<std::int32_t>(random_.between(-1, stage_.last_lobby + 3));
    AllocationRequest request{LobbyId(lobby), 6, 0, regions_[random_.below(regions_.size())], 4, 1650};
    if (chance(0.3)) request.region = RegionId(static_cast<std::int8_t>(random_.between(-1, 12)));
    if (chance(0.3)) request.player_count = static_cast<std::int8_t>(random_.between(-1, 0));
    stage_.last_lobby = std::max(stage_.last_lobby, lobby);
    return request;
}

void MatchmakerActor::ask(LobbyId lobby) {
    Ask& known = asks_[lobby];
    const std::uint32_t serial = ++known.serial;
    send(known.request);
    stage_.agenda.in(patience, [this, lobby, serial] { patience_over(lobby, serial); });
}

// No answer in thirty seconds: withdrawn, or asked again.
void MatchmakerActor::patience_over(LobbyId lobby, std::uint32_t serial) {
    const auto found = asks_.find(lobby);
    if (found == asks_.end() || found->second.serial != serial || found->second.state != State::asked) return;
    if (++found->second.tries <= tries_most && chance(0.5)) return ask(lobby);
    send(CancelMatch{lobby});
    asks_.erase(found);
}

void MatchmakerActor::name_players(LobbyId lobby) {
    MatchPlayers list{lobby, {}};
    const auto count = random_.between(1, 5);
    for (std::int64_t i = 0; i < count; ++i)
        list.accounts.items.emplace_back(lobby.value * 10 + static_cast<std::int32_t>(i));
    // Players who have been here too: they are told.
    for (const AccountId account : stage_.accounts) {
        if (chance(habits().list_players)) list.accounts.items.push_back(account);
    }
    send(list);
}

void MatchmakerActor::answered(const AllocationResponse& answer) {
    const auto* accepted = std::get_if<AllocationResponse::Accepted>(&answer.answer);
    const auto* refused = std::get_if<LobbyRefused>(&answer.answer);
    const LobbyId lobby = accepted ? accepted->lobby : refused->lobby;
    if (const auto probe = probes_.find(lobby); probe != probes_.end()) {
        if (refused) last_probe_error_ = refused->error.string();
        if (accepted && stage_.now() - probe->second <= probe_time) ++probes_answered_;
    }
    const auto found = asks_.find(lobby);
    if (found == asks_.end()) return;
    if (accepted) {
        found->second.state = State::allocated;
        if (chance(habits().list / 3)) name_players(lobby);
        return;
    }
    // A failed request may be asked again.
    const bool worth_it = refused->error != text(Refusal::invalid_match_lobby_id);
    if (!worth_it || ++found->second.tries > tries_most || !chance(stage_.calm ? 0.0 : 0.5)) {
        asks_.erase(found);
        return;
    }
    const std::uint32_t serial = ++found->second.serial;
    stage_.agenda.in(between(random_, 0ms, 6s), [this, lobby, serial] {
        const auto again = asks_.find(lobby);
        if (again != asks_.end() && again->second.serial == serial) ask(lobby);
    });
}

void MatchmakerActor::told(const MatchEventNotice& notice) {
    const bool over = notice.event == MatchEventKind::ended || notice.event == MatchEventKind::aborted;
    if (over && !(chance(habits().repeat) && asks_.contains(notice.lobby))) asks_.erase(notice.lobby);
}

void MatchmakerActor::frame(LinkNumber link, Code code, std::span<const std::byte> payload) {
    if (link != link_) return;
    last_heard_ = stage_.now();
    static_cast<void>(visit_outbound<Port::matchmakers>(ByteOrder::little, code, payload, FromMuster{*this}));
}

void MatchmakerActor::go_away(Duration by, bool silently) {
    away_until_ = stage_.now() + by;
    drop_link(silently);
}

void MatchmakerActor::misspeak() {
    if (link_ == 0) return;
    if (chance(0.3))
        return send(MatchmakerHandshake{HandshakeTokenText(matchmaker_secret), MatchmakerIdText(id_), {regions_}});
    std::vector<std::byte> bytes(random_.below(12) + 4);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_.below(256));
    bytes[1] = std::byte{0};
    stage_.network.send(link_, std::move(bytes));
}

void MatchmakerActor::calm_down() {
    away_until_ = stage_.now();
    connect();
}

void MatchmakerActor::burst(int requests) {
    for (int i = 0; i < requests; ++i) {
        const LobbyId lobby(++stage_.last_lobby);
        send(AllocationRequest{lobby, 6, 0, regions_[0], 10, 1650});
    }
}

void MatchmakerActor::probe(RegionId region) {
    const LobbyId lobby(++stage_.last_lobby);
    probes_[lobby] = stage_.now();
    send(AllocationRequest{lobby, 6, 0, region, 4, 1650});
}

}  // namespace muster::sim
