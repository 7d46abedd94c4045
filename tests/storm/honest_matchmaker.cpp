#include "honest_matchmaker.h"

#include <set>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "honest_player.h"
#include "honest_server.h"
#include "protocol/codec.h"

namespace muster::storm {
namespace {

constexpr int refusals_most = 4;  // then the lobby is given up

}  // namespace

HonestMatchmaker::HonestMatchmaker(Stage& stage, const Manner& manner, std::size_t link)
    : stage_(stage), manner_(manner), link_(link), next_lobby_(static_cast<std::int32_t>(manner.number) + 1) {}

std::string HonestMatchmaker::name() const {
    return fmt::format("storm-matchmaker-{}", manner_.number);
}

void HonestMatchmaker::come(Span most) {
    const std::uint64_t visit = ++visit_;
    stage_.agenda.in(stage_.some(10ms, most), [this, visit] {
        if (visit == visit_) connect();
    });
}

void HonestMatchmaker::connect() {
    if (stage_.ports.matchmakers == 0) return come(stage_.pace.reconnect_most);
    came_ = now();
    if (!away_since_) away_since_ = came_;
    stage_.links.open(link_, stage_.ports.matchmakers, {address, ByteOrder::little});
}

void HonestMatchmaker::opened() {
    MatchmakerHandshake hello{stage_.secrets.matchmaker_token, name(), {}};
    hello.regions.items.push_back(RegionId(HonestServer::region));
    stage_.links.send(link_, hello);
}

void HonestMatchmaker::closed() {
    stage_.judge.link_lost(name(), now());
    unlinked();
}

void HonestMatchmaker::unlinked() {
    if (heard_since_) away_since_ = now();
    heard_since_.reset();
    beats_.clear();
    come(stage_.pace.reconnect_most);
}

// Stops reading for a moment, as a process does that is about to crash, and is gone with what it had not read.
void HonestMatchmaker::die_with_unread_news() {
    stage_.links.leave_unread(link_, true);
    later(200ms, 800ms, [this] {
        stage_.links.cut(link_);
        unlinked();
    });
}

void HonestMatchmaker::later(Span least, Span most, std::function<void()> deed) {
    const std::uint64_t visit = visit_;
    stage_.agenda.in(stage_.some(least, most), [this, visit, deed = std::move(deed)] {
        if (visit == visit_ && heard_since_) deed();
    });
}

void HonestMatchmaker::frame(Code code, std::span<const std::byte> payload) {
    Judge& judge = stage_.judge;
    if (code == MatchmakerHandshakeResponse::code) {
        if (const auto answer = decode<MatchmakerHandshakeResponse>(payload, ByteOrder::little))
            return welcomed(*answer);
    } else if (code == AllocationResponse::code) {
        if (const auto answer = decode<AllocationResponse>(payload, ByteOrder::little)) {
            if (const auto* yes = std::get_if<0>(&answer->answer)) return accepted(*yes);
            const auto& no = std::get<1>(answer->answer);
            return refused(no.lobby.value, no.error.view());
        }
    } else if (code == MatchEventNotice::code) {
        if (const auto event = decode<MatchEventNotice>(payload, ByteOrder::little)) {
            return judge.object(stage_.book.told(event->lobby.value, event->event, event->reason.view(), now()));
        }
    } else if (code == MatchmakerHeartbeatAck::code) {
        if (beats_.empty()) return judge.object(name() + " was acknowledged more than it sent");
        judge.answered(Service::liveness, beats_.front(), now());
        beats_.pop_front();
        return;
    } else if (code == MatchPlayersResponse::code) {
        return;
    }
    if (!stage_.weather.met({Trouble::down, Trouble::cut_short}, now() - 1s, now()))
        judge.object(fmt::format("{} was sent {:#06x}, which it cannot read", name(), code));
}

void HonestMatchmaker::welcomed(const MatchmakerHandshakeResponse& answer) {
    if (std::get_if<1>(&answer.answer)) {
        const auto why = std::get<1>(answer.answer).error.view();
        const bool early = why == "Chat Server already registered" &&
                           stage_.weather.running(*away_since_, now()) < stage_.pace.old_link_most;
        if (!early && !stage_.weather.met({Trouble::down, Trouble::cut_short}, *away_since_, now()))
            stage_.judge.object(fmt::format("{} was turned away: {}", name(), why));
        stage_.links.cut(link_);
        return come(stage_.pace.reconnect_most);
    }
    heard_since_ = now();
    away_since_.reset();
    stage_.judge.answered(Service::liveness, came_, now());
    later(10ms, stage_.pace.heartbeat, [this] { beat(); });
    later(1ms, manner_.ask_every, [this] { ask_for_new(); });
    if (manner_.unread_deaths) later(3s, 12s, [this] { die_with_unread_news(); });
    // Every lobby that lives: a lost answer is given again, and no answer may have changed.
    for (const std::int32_t lobby : stage_.book.open_of(manner_.number)) {
        const Lobby* known = stage_.book.find(lobby);
        if (known->cancelled) {
            cancel(lobby);
        } else {
            ask(lobby);
        }
    }
}

void HonestMatchmaker::beat() {
    stage_.links.send(link_, MatchmakerHeartbeat{});
    beats_.push_back(now());
    later(stage_.pace.heartbeat * 9 / 10, stage_.pace.heartbeat, [this] { beat(); });
}

void HonestMatchmaker::ask_for_new() {
    later(manner_.ask_every / 2, manner_.ask_every * 3 / 2, [this] { ask_for_new(); });
    if (resting_) return;
    const std::int32_t lobby = next_lobby_;
    next_lobby_ += static_cast<std::int32_t>(manner_.of);
    std::set<std::int32_t> guests;
    const auto count = static_cast<std::size_t>(stage_.random.between(1, 4));
    for (std::size_t i = 0; i < count; ++i)
        guests.insert(HonestPlayer::first_account +
                      static_cast<std::int32_t>(stage_.random.below(static_cast<std::uint64_t>(manner_.accounts))));
    stage_.book.ask(lobby, manner_.number, now()).guests.assign(guests.begin(), guests.end());
    constexpr double lists = 0.3;
    if (stage_.random.chance(lists)) {
        MatchPlayers list{LobbyId(lobby), {}};
        for (const std::int32_t account : guests) list.accounts.items.push_back(AccountId(account));
        stage_.links.send(link_, list);
    }
    ask(lobby);
    constexpr double cancels = 0.05;
    if (stage_.random.chance(cancels)) {
        later(1ms, 2s, [this, lobby] { cancel(lobby); });
    }
}

void HonestMatchmaker::ask(std::int32_t lobby) {
    const Lobby& known = stage_.book.ask(lobby, manner_.number, now());
    stage_.links.send(link_, AllocationRequest{LobbyId(lobby), 6, 0, RegionId(HonestServer::region),
                                               static_cast<std::int8_t>(known.guests.size()), 1650});
}

void HonestMatchmaker::cancel(std::int32_t lobby) {
    if (!registered()) return;
    stage_.book.cancel(lobby, now());
    stage_.links.send(link_, CancelMatch{LobbyId(lobby)});
}

void HonestMatchmaker::accepted(const AllocationResponse::Accepted& answer) {
    const std::int32_t lobby = answer.lobby.value;
    const Lobby* known = stage_.book.find(lobby);
    if (known && known->asked && !known->hesitated) stage_.judge.answered(Service::promises, *known->asked, now());
    stage_.judge.object(stage_.book.accepted(
        lobby, {answer.server.value, answer.endpoint.port, std::string(answer.token.view())}, now()));
    constexpr double asks_again = 0.05;
    if (stage_.random.chance(asks_again)) {
        later(1ms, 1s, [this, lobby] {
            const Lobby* still = stage_.book.find(lobby);
            if (still && !still->over && !still->ending && !still->cancelled) ask(lobby);
        });
    }
}

void HonestMatchmaker::refused(std::int32_t lobby, std::string_view why) {
    stage_.judge.object(stage_.book.refused(lobby, why, now()));
    const Lobby* known = stage_.book.find(lobby);
    if (!known || known->over || known->cancelled || known->answer) return;
    if (known->refusals > refusals_most) return stage_.book.give_up(lobby, now());
    later(300ms, 1s, [this, lobby] {
        const Lobby* still = stage_.book.find(lobby);
        if (still && !still->over && !still->cancelled && !still->asked) ask(lobby);
    });
}

void HonestMatchmaker::sweep(Moment at) const {
    if (away_since_ && stage_.judge.overdue(*away_since_, at)) stage_.judge.object(name() + " could not register");
    if (!beats_.empty() && stage_.judge.overdue(beats_.front(), at))
        stage_.judge.object(name() + " has no answer to its heartbeat");
}

}  // namespace muster::storm
