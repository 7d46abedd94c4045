#include "sdk/src/matchmaker_state.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <variant>

#include "protocol/answer_forms.h"
#include "sdk/src/earliest.h"
#include "sdk/src/endpoint_port.h"
#include "sdk/src/refusals.h"

namespace muster::sdk {

namespace {

// Whatever Muster says: what does not fit becomes the first or the last date that does.
UnixTime date_of(UnixMs time) {
    using Ms = std::chrono::milliseconds;
    constexpr auto first = std::chrono::ceil<Ms>(UnixTime::min()).time_since_epoch();
    constexpr auto last = std::chrono::floor<Ms>(UnixTime::max()).time_since_epoch();
    return UnixTime(std::clamp(Ms(time.value), first, last));
}

muster::LobbyId wire(LobbyId lobby) {
    return muster::LobbyId(lobby.value);
}

LobbyId lobby_of(const auto& message) {
    return LobbyId(message.lobby.value);
}

}  // namespace

void Matchmaker::State::request(const MatchRequest& match, std::function<void(const Allocation&)> done) {
    Ask ask{.kind = Ask::Kind::request,
            .lobby = match.lobby,
            .match = match,
            .allocated = std::move(done),
            .answer_by = now_ + options_.request_timeout};
    if (link_state_ == LinkState::closed)
        return end_later(std::move(ask), ErrorCode::closed, "The matchmaker is closed");
    if (asks_.contains(Ask::Kind::request, ask.lobby)) {
        return end_later(std::move(ask), ErrorCode::already_asked, "This lobby is being allocated");
    }
    // Its answer could not be told from that of the request which is being withdrawn.
    if (asks_.contains(Ask::Kind::cancel, ask.lobby)) {
        return end_later(std::move(ask), ErrorCode::already_asked, "This lobby is being withdrawn");
    }
    if (asks_.size() >= asks_max) {
        return end_later(std::move(ask), ErrorCode::too_many_requests, "Too many requests wait for Muster's answer");
    }
    send(asks_.add(std::move(ask)));
}

void Matchmaker::State::cancel(LobbyId lobby) {
    auto asked = asks_.take(Ask::Kind::request, lobby);
    const bool muster_knows = !asked || asked->ever_sent;
    if (asked) end_later(*std::move(asked), ErrorCode::cancelled, "Cancelled");
    if (muster_knows) withdraw(lobby);
}

void Matchmaker::State::players(LobbyId lobby, std::span<const AccountId> accounts,
                                std::function<void(const Outcome&)> done) {
    Ask ask{.kind = Ask::Kind::players,
            .lobby = lobby,
            .accounts = {accounts.begin(), accounts.end()},
            .listed = std::move(done),
            .answer_by = now_ + options_.request_timeout};
    if (link_state_ == LinkState::closed)
        return end_later(std::move(ask), ErrorCode::closed, "The matchmaker is closed");
    if (accounts.size() > static_cast<std::size_t>(std::numeric_limits<std::int8_t>::max())) {
        return end_later(std::move(ask), ErrorCode::invalid_argument, "A match has at most 127 players");
    }
    if (asks_.size() >= asks_max) {
        return end_later(std::move(ask), ErrorCode::too_many_requests, "Too many requests wait for Muster's answer");
    }
    send(asks_.add(std::move(ask)));
}

void Matchmaker::State::close() {
    if (link_state_ == LinkState::closed) return;
    link_.close();
    heartbeats_.stop();
    for (Ask& ask : asks_.take_all()) end_later(std::move(ask), ErrorCode::closed, "The matchmaker is closed");
    left(LinkState::closed);
}

void Matchmaker::State::withdraw(LobbyId lobby) {
    if (asks_.contains(Ask::Kind::cancel, lobby)) return;
    Ask cancel{.kind = Ask::Kind::cancel, .lobby = lobby};
    if (asks_.size() < asks_max) {
        send(asks_.add(std::move(cancel)));
    } else {
        send(cancel);
    }
}

void Matchmaker::State::end(const Ask& ask, ErrorCode code, std::string_view text) {
    const Outcome outcome{code, std::string(text)};
    call(ask.allocated, Allocation{.outcome = outcome, .lobby = ask.lobby});
    call(ask.listed, outcome);
}

void Matchmaker::State::end_later(Ask ask, ErrorCode code, std::string text) {
    owe([this, ask = std::move(ask), code, text = std::move(text)] { end(ask, code, text); });
}

void Matchmaker::State::greet() {
    greeted_at_ = now_;
    MatchmakerHandshake hello{.token = options_.token, .matchmaker = options_.matchmaker_id};
    for (const RegionId region : options_.regions) hello.regions.items.emplace_back(region.value);
    link_.send(hello);
}

void Matchmaker::State::link_lost() {
    heartbeats_.stop();
}

std::optional<WireError> Matchmaker::State::hear(std::span<const std::byte> bytes) {
    return link_.receive<Port::matchmakers>(bytes, [this](const auto& message) { take(message); });
}

void Matchmaker::State::work(Time now) {
    for (const Ask& ask : asks_.take_expired(now)) expire(ask);
    if (link_.online() && heartbeats_.overdue(now)) {
        tell(ErrorCode::no_answer, "No answer to a heartbeat");
        link_.drop();
    }
    if (link_.online() && heartbeats_.due(now)) send_heartbeat();
}

// Muster answers within 25 s. When it did not, the match is off: the players are told, and Muster is, when it hears us.
void Matchmaker::State::expire(const Ask& ask) {
    if (ask.kind == Ask::Kind::request && ask.ever_sent) withdraw(ask.lobby);
    end(ask, ErrorCode::no_answer, "Muster did not answer in time");
}

std::optional<Time> Matchmaker::State::next_work() const {
    const std::optional<Time> next = earliest({link_.next_tick(), asks_.next_expiry()});
    return link_.online() ? earliest({next, heartbeats_.next_tick()}) : next;
}

void Matchmaker::State::take(const MatchmakerHandshakeResponse& message) {
    if (link_.stage() != Link::Stage::greeting) return;
    if (const auto* no = std::get_if<MatchmakerHandshakeResponse::Refused>(&message.answer)) {
        tell(handshake_refused(no->error.view(), "matchmaker " + options_.matchmaker_id));
        link_.drop();
        return;
    }
    const auto& yes = std::get<MatchmakerHandshakeResponse::Accepted>(message.answer);
    servers_.clear();
    for (const auto& server : yes.servers.items) {
        servers_.push_back({.server = ServerId(server.server.value),
                            .ip = server.endpoint.ip.string(),
                            .port = port_of(server.endpoint),
                            .region = RegionId(server.region.value),
                            .max_matches = server.max_matches});
    }
    link_.greeted();
    stamped(greeted_at_, yes.time);
    heartbeats_.begin(now_);
    // Asking again is safe: Muster answers as it did, or joins what is under way.
    asks_.for_each([this](Ask& ask) { send(ask); });
    send_heartbeat();
    set_link_state(LinkState::online);
}

void Matchmaker::State::take(const AllocationResponse& message) {
    const LobbyId lobby = std::visit([](const auto& form) { return lobby_of(form); }, message.answer);
    const auto asked = asks_.take(Ask::Kind::request, lobby);
    if (!asked) return;  // too late, or cancelled: it is being withdrawn
    Allocation allocation{.lobby = lobby};
    if (const auto* no = std::get_if<LobbyRefused>(&message.answer)) {
        allocation.outcome = refused(no->error.view());
    } else {
        const auto& yes = std::get<AllocationResponse::Accepted>(message.answer);
        allocation.server = ServerId(yes.server.value);
        allocation.ip = yes.endpoint.ip.string();
        allocation.port = port_of(yes.endpoint);
        allocation.token = yes.token.string();
        allocation.allocated_at = date_of(yes.time);
    }
    call(asked->allocated, allocation);
}

void Matchmaker::State::take(const MatchmakerHeartbeatAck& message) {
    const auto sent = heartbeats_.answered();
    if (!sent) return;
    link_.proven();
    stamped(*sent, message.time);
}

void Matchmaker::State::take(const MatchEventNotice& message) {
    const MatchEvent event{.lobby = lobby_of(message),
                           .kind = static_cast<MatchEventKind>(message.event),
                           .reason = message.reason.string()};
    if (event.kind == MatchEventKind::aborted) asks_.take(Ask::Kind::cancel, event.lobby);
    call(user_.on_event, event);
}

void Matchmaker::State::take(const MatchPlayersResponse& message) {
    const LobbyId lobby = std::visit([](const auto& form) { return lobby_of(form); }, message.answer);
    const auto asked = asks_.take(Ask::Kind::players, lobby);
    if (!asked) return;
    const auto* no = std::get_if<LobbyRefused>(&message.answer);
    call(asked->listed, no ? refused(no->error.view()) : Outcome{});
}

void Matchmaker::State::take(const MatchmakerError& message) {
    const Outcome outcome = refused(message.error.view());
    tell(outcome);
    if (outcome.code == ErrorCode::matchmaker_not_registered) link_.drop();
}

void Matchmaker::State::send(Ask& ask) {
    if (!link_.online()) return;
    ask.ever_sent = true;
    switch (ask.kind) {
        case Ask::Kind::request:
            return link_.send(AllocationRequest{.lobby = wire(ask.lobby),
                                                .game_type = ask.match.game_type,
                                                .game_mode = ask.match.game_mode,
                                                .region = muster::RegionId(ask.match.region.value),
                                                .player_count = ask.match.player_count,
                                                .average_rating = ask.match.average_rating});
        case Ask::Kind::cancel:
            return link_.send(CancelMatch{.lobby = wire(ask.lobby)});
        case Ask::Kind::players: {
            MatchPlayers list{.lobby = wire(ask.lobby)};
            for (const AccountId account : ask.accounts) list.accounts.items.emplace_back(account.value);
            return link_.send(list);
        }
    }
}

void Matchmaker::State::send_heartbeat() {
    heartbeats_.sent(now_);
    link_.send(MatchmakerHeartbeat{});
}

// What was asked before anyone said what time it is, was asked now.
void Matchmaker::State::time_known(Time now) {
    asks_.postpone(now - now_);
}

void Matchmaker::State::stamped(Time sent, UnixMs stamp) {
    clock_.add({.sent = sent, .received = now_, .stamp = std::chrono::milliseconds(stamp.value)});
}

}  // namespace muster::sdk
