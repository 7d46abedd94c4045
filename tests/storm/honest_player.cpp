#include "honest_player.h"

#include <chrono>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "credential.h"
#include "protocol/codec.h"

namespace muster::storm {
namespace {

constexpr auto order = ByteOrder::big;

// The machine's date, which the storm's own process always sees rightly.
std::int64_t unix_seconds() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace

HonestPlayer::HonestPlayer(Stage& stage, std::size_t number, std::size_t link)
    : stage_(stage), link_(link), account_(first_account + static_cast<std::int32_t>(number)) {}

std::string HonestPlayer::name() const {
    return fmt::format("storm-player-{}", account_);
}

void HonestPlayer::come(Span most) {
    const std::uint64_t visit = ++visit_;
    stage_.agenda.in(stage_.some(10ms, most), [this, visit] {
        if (visit == visit_) connect();
    });
}

void HonestPlayer::connect() {
    if (stage_.ports.players == 0) return come(stage_.pace.reconnect_most);
    came_ = now();
    if (!away_since_) away_since_ = came_;
    stage_.links.open(link_, stage_.ports.players, {address, order});
}

void HonestPlayer::opened() {
    constexpr std::int64_t ten_minutes = 600;  // less than any step of the date
    const std::string credential =
        signed_credential(stage_.secrets.player_key, {name(), account_, unix_seconds() + ten_minutes});
    stage_.links.send(link_, PlayerLogin{name(), credential, resume_token_});
}

void HonestPlayer::closed() {
    if (!leaving_) stage_.judge.link_lost(name(), now());
    unlinked();
}

void HonestPlayer::unlinked() {
    if (logged_in_ || leaving_) away_since_.reset();  // from here on it is away by its own will
    logged_in_ = leaving_ = false;
    measured_.reset();
    issued_us_ = 0;
    come(2 * stage_.pace.reconnect_most);
}

void HonestPlayer::later(Span least, Span most, std::function<void()> deed) {
    const std::uint64_t visit = visit_;
    stage_.agenda.in(stage_.some(least, most), [this, visit, deed = std::move(deed)] {
        if (visit == visit_ && logged_in_) deed();
    });
}

void HonestPlayer::frame(Code code, std::span<const std::byte> payload) {
    switch (code) {
        case PlayerLoginResponse::code:
            if (const auto answer = decode<PlayerLoginResponse>(payload, order)) login_answered(*answer);
            return;
        case Ping::code:
            return stage_.links.send(link_, PingEcho{});
        case PingReply::code:
            if (measured_) stage_.judge.answered(Service::liveness, *measured_, now());
            measured_.reset();
            return;
        case ClockSyncReply::code:
            if (const auto answer = decode<ClockSyncReply>(payload, order)) clock_told(*answer);
            return;
        case EntityHeartbeat::code:
            if (const auto asked = decode<EntityHeartbeat>(payload, order))
                stage_.links.send(link_, EntityHeartbeatAnswer{asked->request_id, 1});
            return;
        case PlayerMatchStart::code:
            if (const auto start = decode<PlayerMatchStart>(payload, order)) match_starts(*start);
            return;
        case ServerClose::code:
            if (const auto close = decode<ServerClose>(payload, order)) closing(*close);
            return;
        default:
            return;
    }
}

void HonestPlayer::login_answered(const PlayerLoginResponse& answer) {
    const auto* yes = std::get_if<0>(&answer.answer);
    if (!yes) {
        using enum Trouble;
        const auto why = std::get<1>(answer.answer).error.view();
        const bool by_date = why == "Credential expired" && stage_.weather.met({date}, came_, now());
        if (!by_date && !stage_.weather.met({down, cut_short}, came_ - 1s, now()))
            stage_.judge.object(fmt::format("{} was not let in: {}", name(), why));
        resume_token_.clear();
        stage_.links.cut(link_);
        return come(1s);
    }
    if (!resume_token_.empty() && resume_token_ == yes->resume_token.view())
        stage_.judge.object(fmt::format("{} was given a resume token that it has used", name()));
    if (yes->player.value != account_)
        stage_.judge.object(fmt::format("{} was let in as player {}", name(), yes->player.value));
    resume_token_ = yes->resume_token.view();
    logged_in_ = true;
    away_since_.reset();
    stage_.judge.answered(Service::liveness, came_, now());
    later(10ms, 1s, [this] { measure(); });
    later(6s, 40s, [this] { leave(); });
}

void HonestPlayer::measure() {
    if (!measured_) {
        measured_ = now();
        stage_.links.send(link_, PingRequest{});
        stage_.links.send(link_, ClockSync{measured_->time_since_epoch() / 1us});
        stage_.links.send(link_, PlayerActivity{});
    }
    later(500ms, 1s, [this] { measure(); });
}

// On one link time never goes back, whatever the date of the machine does.
void HonestPlayer::clock_told(const ClockSyncReply& answer) {
    if (answer.server_send_us < issued_us_)
        stage_.judge.object(
            fmt::format("the clock of {} went back: {} after {}", name(), answer.server_send_us, issued_us_));
    issued_us_ = answer.server_send_us;
}

// Logs out, or loses its link and resumes.
void HonestPlayer::leave() {
    if (stage_.random.chance(0.3)) {
        stage_.links.send(link_, PlayerLogout{});
        resume_token_.clear();
        logged_in_ = false;
        leaving_ = true;
        away_since_ = now();  // until the daemon closes the link
        return;
    }
    stage_.links.cut(link_);
    unlinked();
}

void HonestPlayer::match_starts(const PlayerMatchStart& start) {
    const Lobby* lobby = stage_.book.find(start.lobby.value);
    if (lobby && lobby->answer && lobby->answer->token != start.token.view())
        stage_.judge.object(fmt::format("{} was sent to lobby {} with another token", name(), start.lobby.value));
}

void HonestPlayer::closing(const ServerClose& close) {
    if (stage_.weather.met({Trouble::down, Trouble::cut_short}, now() - 1s, now())) return;
    stage_.judge.object(fmt::format("{} was closed: {}", name(), close.reason.view()));
}

void HonestPlayer::sweep(Moment at) const {
    if (away_since_ && stage_.judge.overdue(*away_since_, at)) stage_.judge.object(name() + " could not log in");
    if (measured_ && stage_.judge.overdue(*measured_, at)) stage_.judge.object(name() + " has no answer to its ping");
}

}  // namespace muster::storm
