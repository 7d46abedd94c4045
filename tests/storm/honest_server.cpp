#include "honest_server.h"

#include <limits>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "protocol/codec.h"

namespace muster::storm {
namespace {

constexpr Span report_again = 1s;

constexpr std::string_view not_kept = "Store unavailable";
constexpr std::int32_t stranger = 999'999;  // an account that is no guest anywhere

// Decodes and visits both forms of an answer.
template <class M>
void with(std::span<const std::byte> payload, Judge& judge, auto&& use) {
    if (const auto message = decode<M>(payload, ByteOrder::little)) {
        use(*message);
    } else {
        judge.object(fmt::format("{} cannot be read", M::name));
    }
}

template <class Response>
std::pair<std::int32_t, std::optional<std::string_view>> lobby_of(const Response& response) {
    if (const auto* yes = std::get_if<0>(&response.answer)) return {yes->lobby.value, std::nullopt};
    const auto& no = std::get<1>(response.answer);
    return {no.lobby.value, no.error.view()};
}

}  // namespace

HonestServer::HonestServer(Stage& stage, std::size_t number, std::size_t link)
    : stage_(stage), link_(link), port_(first_port + static_cast<std::int32_t>(number)) {}

std::string HonestServer::name() const {
    return fmt::format("game server {} (port {})", id_, port_);
}

void HonestServer::come(Span most) {
    const std::uint64_t visit = ++visit_;
    stage_.agenda.in(stage_.some(10ms, most), [this, visit] {
        if (visit == visit_) connect();
    });
}

void HonestServer::connect() {
    if (stage_.ports.servers == 0 || stage_.life < comes_in_life_) return come(stage_.pace.reconnect_most);
    came_ = now();
    if (!away_since_) away_since_ = came_;
    stage_.links.open(link_, stage_.ports.servers, {address, ByteOrder::little});
}

void HonestServer::opened() {
    stage_.links.send(
        link_, ServerHandshake{stage_.secrets.server_token, {"127.0.0.1", port_}, RegionId(region), max_matches});
}

void HonestServer::closed() {
    stage_.judge.link_lost(name(), now());
    unlinked();
}

// A server whose link is lost for reasons of its own.
void HonestServer::leave_for_a_moment() {
    stage_.links.cut(link_);
    unlinked();
}

void HonestServer::stay_away() {
    if (!registered_) return;
    comes_in_life_ = stage_.life + 1;
    leave_for_a_moment();
}

std::optional<std::int32_t> HonestServer::some_match() const {
    for (const auto& [lobby, hold] : holds_) {
        const Lobby* known = stage_.book.find(lobby);
        if (known && known->answer == self(hold) && hold.step < Step::reporting_end) return lobby;
    }
    return std::nullopt;
}

void HonestServer::unlinked() {
    if (registered_) away_since_ = now();
    registered_ = wants_drain_ = drains_ = false;
    beats_.clear();
    std::erase_if(holds_, [](const auto& each) { return each.second.step == Step::offered; });
    for (auto& [lobby, hold] : holds_) {
        hold.asked.reset();
        if (hold.step != Step::validating) continue;
        for (const std::int32_t account : hold.expected) stage_.book.token_unanswered(lobby, account);
    }
    come(stage_.pace.reconnect_most);
}

void HonestServer::later(Span least, Span most, std::function<void()> deed) {
    const std::uint64_t visit = visit_;
    stage_.agenda.in(stage_.some(least, most), [this, visit, deed = std::move(deed)] {
        if (visit == visit_ && registered_) deed();
    });
}

void HonestServer::frame(Code code, std::span<const std::byte> payload) {
    Judge& judge = stage_.judge;
    switch (code) {
        case ServerHandshakeResponse::code:
            return with<ServerHandshakeResponse>(payload, judge, [this](const auto& m) { welcomed(m); });
        case ServerHeartbeatAck::code:
            return with<ServerHeartbeatAck>(payload, judge, [this](const auto& m) { beat_answered(m); });
        case AllocateMatch::code:
            return with<AllocateMatch>(payload, judge, [this](const auto& m) { offered(m); });
        case AbortMatch::code:
            return with<AbortMatch>(payload, judge, [this](const auto& m) { aborted(m); });
        case ReadyForMatchResponse::code:
            return with<ReadyForMatchResponse>(payload, judge, [this](const auto& m) {
                const auto [lobby, refusal] = lobby_of(m);
                ready_answered(lobby, refusal);
            });
        case MatchResponse::code:
            return with<MatchResponse>(payload, judge, [this](const auto& m) {
                const auto [lobby, refusal] = lobby_of(m);
                report_answered(lobby, refusal);
            });
        case ValidateTokenResponse::code:
            return with<ValidateTokenResponse>(payload, judge, [this](const ValidateTokenResponse& m) {
                if (const auto* yes = std::get_if<0>(&m.answer))
                    return token_judged(yes->lobby.value, yes->account.value, std::nullopt);
                const auto& no = std::get<1>(m.answer);
                token_judged(no.lobby.value, no.account.value, no.error.view());
            });
        case ServerError::code:
            return with<ServerError>(payload, judge, [this](const auto& m) { told_of_error(m); });
        case ServerStatusNotice::code:
            return with<ServerStatusNotice>(payload, judge, [this](const ServerStatusNotice& m) {
                drains_ = wants_drain_ && m.status == ServerStatus::draining;
            });
        default:
            return;
    }
}

void HonestServer::welcomed(const ServerHandshakeResponse& answer) {
    const auto* yes = std::get_if<0>(&answer.answer);
    if (!yes) {
        const auto why = std::get<1>(answer.answer).error.view();
        // The daemon may hear of the new link before it hears that the old one is gone.
        const bool early = why == "Server already registered" &&
                           stage_.weather.running(*away_since_, now()) < stage_.pace.old_link_most;
        if (!early && !stage_.weather.met({Trouble::down, Trouble::cut_short}, *away_since_, now()))
            stage_.judge.object(fmt::format("{} was turned away: {}", name(), why));
        stage_.links.cut(link_);
        return come(stage_.pace.reconnect_most);
    }
    if (id_ != 0 && yes->server.value != id_) {
        stage_.judge.object(fmt::format("{} had been removed: it is now {}", name(), yes->server.value));
    }
    id_ = yes->server.value;
    registered_ = true;
    registered_at_ = now();
    away_since_.reset();
    stage_.judge.answered(Service::liveness, came_, now());
    later(10ms, stage_.pace.heartbeat, [this] { beat(); });
    later(5s, 30s, [this] { leave_for_a_moment(); });
    drain(false);
    later(2s, 20s, [this] { drain(true); });
    resume();
}

void HonestServer::told_of_error(const ServerError& error) {
    using enum Trouble;
    const bool disk = error.error.view() == not_kept && stage_.weather.met({slow_disk, full_disk}, now() - 1s, now());
    if (!disk && !stage_.weather.met({down, cut_short}, now() - 1s, now()))
        stage_.judge.object(fmt::format("{} was told of an error: {}", name(), error.error.view()));
}

// Takes no new match for a while, as before an update.
void HonestServer::drain(bool draining) {
    wants_drain_ = draining;
    drains_ = false;
    stage_.links.send(link_, SetDraining{ServerId(id_), draining});
    if (draining) later(2s, 4s, [this] { drain(false); });
}

void HonestServer::beat() {
    const float cpu = broken_sensors() ? std::numeric_limits<float>::quiet_NaN() : 20.0F;
    stage_.links.send(link_, ServerHeartbeat{ServerId(id_), static_cast<std::int32_t>(holds_.size()), cpu, 30.0F});
    beats_.push_back(now());
    later(stage_.pace.heartbeat * 9 / 10, stage_.pace.heartbeat, [this] { beat(); });
}

void HonestServer::beat_answered(const ServerHeartbeatAck& ack) {
    const auto* yes = std::get_if<0>(&ack.answer);
    if (!yes && !broken_sensors()) {
        return stage_.judge.object(
            fmt::format("{} was refused its heartbeat: {}", name(), std::get<1>(ack.answer).error.view()));
    }
    if (yes && broken_sensors()) return stage_.judge.object(name() + " reported no load, and was believed");
    if (beats_.empty()) return stage_.judge.object(name() + " was acknowledged more than it sent");
    stage_.judge.answered(Service::liveness, beats_.front(), now());
    beats_.pop_front();
    if (!yes) return;
    // A restarted daemon knows the date only.
    if (yes->time.value < issued_ms_ && !stage_.weather.met({Trouble::down}, issued_at_, now()))
        stage_.judge.object(fmt::format("issued times went back: {} after {}", yes->time.value, issued_ms_));
    issued_ms_ = yes->time.value;
    issued_at_ = now();
}

void HonestServer::report_ready(std::int32_t lobby) {
    const auto found = holds_.find(lobby);
    if (found == holds_.end() || found->second.asked) return;
    found->second.asked = now();
    if (found->second.step < Step::reporting_ready) found->second.step = Step::reporting_ready;
    stage_.links.send(link_, ReadyForMatch{ServerId(id_), LobbyId(lobby), found->second.token});
}

void HonestServer::ready_answered(std::int32_t lobby, std::optional<std::string_view> refusal) {
    const auto found = holds_.find(lobby);
    if (found == holds_.end()) return;
    Hold& hold = found->second;
    const auto asked = std::exchange(hold.asked, std::nullopt);
    if (refusal) return report_refused(lobby, hold, *refusal, asked);
    stage_.book.reported(lobby, MatchEventKind::ready, now());
    if (hold.started) return report_start(lobby, hold);
    constexpr double guests_late = 0.15;
    if (!stage_.random.chance(guests_late)) return validate(lobby, hold);
    hold.step = Step::reporting_ready;  // perhaps it was further on its last link
    later(1s, 3s, [this, lobby] {
        const auto held = holds_.find(lobby);
        const bool waits = held != holds_.end() && held->second.step == Step::reporting_ready && !held->second.asked;
        if (waits) validate(lobby, held->second);
    });
}

void HonestServer::validate(std::int32_t lobby, Hold& hold) {
    hold.step = Step::validating;
    const Lobby* known = stage_.book.find(lobby);
    hold.expected.clear();
    if (known) hold.expected.insert(known->guests.begin(), known->guests.end());
    if (hold.expected.empty()) return report_start(lobby, hold);
    hold.asked = now();
    // Those that were let in before come as replays: they must be refused.
    for (const std::int32_t account : hold.expected) {
        const ValidateToken request{ServerId(id_), LobbyId(lobby), AccountId(account), hold.token};
        stage_.links.send(link_, request);
        // Two at once: which of them is let in is heard later.
        constexpr double twice = 0.1;
        if (!stage_.random.chance(twice)) continue;
        stage_.book.token_unanswered(lobby, account);
        stage_.links.send(link_, request);
    }
}

void HonestServer::token_judged(std::int32_t lobby, std::int32_t account, std::optional<std::string_view> refusal) {
    stage_.judge.object(refusal ? stage_.book.token_refused(lobby, account, *refusal, now())
                                : stage_.book.token_accepted(lobby, account));
    const auto found = holds_.find(lobby);
    if (found == holds_.end() || found->second.step != Step::validating) return;
    Hold& hold = found->second;
    if (hold.expected.erase(account) == 0 || !hold.expected.empty()) return;
    if (hold.asked) stage_.judge.answered(Service::promises, *hold.asked, now());
    hold.asked.reset();
    constexpr double replays = 0.2;
    if (stage_.random.chance(replays))
        stage_.links.send(link_, ValidateToken{ServerId(id_), LobbyId(lobby), AccountId(account), hold.token});
    // All guests are in, so there is room for nobody else.
    const Lobby* known = stage_.book.find(lobby);
    if (known && known->used.size() == known->guests.size() && stage_.random.chance(replays))
        stage_.links.send(link_, ValidateToken{ServerId(id_), LobbyId(lobby), AccountId(stranger), hold.token});
    later(10ms, 500ms, [this, lobby] {
        if (const auto held = holds_.find(lobby); held != holds_.end()) report_start(lobby, held->second);
    });
}

void HonestServer::report_start(std::int32_t lobby, Hold& hold) {
    hold.step = Step::reporting_start;
    hold.asked = now();
    stage_.links.send(link_, MatchStartedReport{ServerId(id_), LobbyId(lobby)});
}

void HonestServer::report_end(std::int32_t lobby) {
    const auto found = holds_.find(lobby);
    if (found == holds_.end()) return;
    found->second.step = Step::reporting_end;
    found->second.asked = now();
    if (Lobby* known = stage_.book.find(lobby)) known->ending = true;
    stage_.links.send(link_, MatchEndedReport{ServerId(id_), LobbyId(lobby)});
}

void HonestServer::report_answered(std::int32_t lobby, std::optional<std::string_view> refusal) {
    const auto found = holds_.find(lobby);
    if (found == holds_.end()) {
        // A match that nobody was promised may be forgotten, and one that was cancelled is no more.
        const Lobby* known = stage_.book.find(lobby);
        const bool promised = known && known->answer && !known->cancelled;
        if (refusal && promised && *refusal != not_kept)
            stage_.judge.object(fmt::format("lobby {} had ended, and is now: {}", lobby, *refusal));
        return;
    }
    Hold& hold = found->second;
    const auto asked = std::exchange(hold.asked, std::nullopt);
    if (refusal) return report_refused(lobby, hold, *refusal, asked);
    if (hold.step == Step::reporting_end) {
        stage_.book.reported(lobby, MatchEventKind::ended, now());
        holds_.erase(found);
        return;
    }
    stage_.book.reported(lobby, MatchEventKind::started, now());
    hold.started = true;
    hold.step = Step::playing;
    if (!hold.ends) hold.ends = now() + stage_.some(500ms, 5s);
    later(std::max<Span>(*hold.ends - now(), 1ms), std::max<Span>(*hold.ends - now(), 1ms) + 10ms,
          [this, lobby] { report_end(lobby); });
}

// Taken, but not on the disk yet: it is said again until it is.
void HonestServer::report_refused(std::int32_t lobby, const Hold& hold, std::string_view refusal,
                                  std::optional<Moment> asked) {
    if (refusal != not_kept) {
        stage_.judge.object(stage_.book.disowned(lobby, self(hold), refusal, now()));
        if (asked) stage_.judge.object(stage_.book.not_told_to_drop(lobby, self(hold), {registered_at_, *asked}));
        holds_.erase(lobby);
        return;
    }
    stage_.judge.object(stage_.book.report_not_kept(lobby, now()));
    later(report_again, report_again, [this, lobby] {
        const auto found = holds_.find(lobby);
        if (found == holds_.end() || found->second.asked) return;
        if (found->second.step == Step::reporting_end) return report_end(lobby);
        if (found->second.step == Step::reporting_start) return report_start(lobby, found->second);
        report_ready(lobby);
    });
}

void HonestServer::aborted(const AbortMatch& abort) {
    const auto found = holds_.find(abort.lobby.value);
    if (found == holds_.end()) return;
    stage_.judge.object(stage_.book.aborted(abort.lobby.value, self(found->second), abort.reason.view(), now()));
    holds_.erase(found);
}

// A new link: whatever was under way is said once more. What was answered with yes is not forgotten by any crash.
void HonestServer::resume() {
    for (auto& [lobby, hold] : holds_) {
        const std::int32_t id = lobby;
        if (hold.step == Step::reporting_end) {
            later(1ms, 20ms, [this, id] { report_end(id); });
        } else {
            later(1ms, 20ms, [this, id] { report_ready(id); });
        }
    }
}

void HonestServer::sweep(Moment at) const {
    if (!registered_) {
        if (away_since_ && stage_.judge.overdue(*away_since_, at)) stage_.judge.object(name() + " could not register");
        return;
    }
    if (!beats_.empty() && stage_.judge.overdue(beats_.front(), at))
        stage_.judge.object(name() + " has no answer to its heartbeat");
    for (const auto& [lobby, hold] : holds_) {
        if (hold.asked && stage_.judge.overdue(*hold.asked, at))
            stage_.judge.object(fmt::format("{} has no answer about lobby {}", name(), lobby));
    }
}

}  // namespace muster::storm
