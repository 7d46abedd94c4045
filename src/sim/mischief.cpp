#include "sim/mischief.h"

#include <cmath>
#include <string>

#include <fmt/format.h>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

}  // namespace

void Mischief::begin() {
    next();
}

std::array<Mischief::Kind, Mischief::kind_count> Mischief::kinds() const {
    const FaultRates& rates = parts_.stage.conditions.faults;
    return {{
        {rates.reset, &Mischief::reset_link},
        {rates.vanish, &Mischief::lose_link},
        {rates.one_way, &Mischief::lose_one_way},
        {rates.server_reboot, &Mischief::reboot_server},
        {rates.server_leave, &Mischief::send_server_off},
        {rates.server_away, &Mischief::take_server_away},
        {rates.matchmaker_away, &Mischief::take_matchmaker_away},
        {rates.crash, &Mischief::kill_muster},
        {rates.shutdown, &Mischief::end_muster},
        {rates.freeze, &Mischief::stop_muster},
        {rates.stop_inside, &Mischief::stop_muster_inside},
        {rates.wall_step, &Mischief::change_date},
        {rates.date_ahead, &Mischief::jump_ahead},
        {rates.passer_by, &Mischief::pass_by},
        {rates.slow_reader, &Mischief::stop_reading},
        {rates.disk_full, &Mischief::fill_disk},
        {rates.sync_fails, &Mischief::fail_sync},
        {rates.operator_drain, &Mischief::drain_by_operator},
        {rates.operator_abort, &Mischief::abort_by_operator},
        {rates.operator_kick, &Mischief::kick_by_operator},
        {rates.operator_remove, &Mischief::remove_by_operator},
        {rates.operator_clock, &Mischief::set_clock_by_operator},
    }};
}

// Independent faults at these rates are one stream of faults at their sum, each with its share.
void Mischief::next() {
    double sum = 0;
    for (const Kind& kind : kinds()) sum += kind.per_minute;
    if (sum <= 0) return;
    const double minutes = -std::log(1.0 - random_.unit()) / sum;
    const auto wait = std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::ratio<60>>(minutes));
    parts_.stage.agenda.in(wait, [this, sum] {
        if (parts_.stage.calm) return;
        double drawn = random_.unit() * sum;
        for (const Kind& kind : kinds()) {
            drawn -= kind.per_minute;
            if (drawn >= 0) continue;
            (this->*kind.befall)();
            break;
        }
        next();
    });
}

LinkNumber Mischief::any_link() {
    const std::vector<LinkNumber> open = parts_.stage.network.open_links();
    return open.empty() ? 0 : open[random_.below(open.size())];
}

void Mischief::reset_link() {
    const LinkNumber link = any_link();
    if (link == 0) return;
    parts_.court.note(parts_.clock.now(), fmt::format("fault: link {} is reset", link));
    parts_.stage.network.reset(link);
}

void Mischief::lose_link() {
    const LinkNumber link = any_link();
    if (link == 0) return;
    parts_.court.note(parts_.clock.now(), fmt::format("fault: link {} is half open", link));
    parts_.stage.network.lose(link, Way::both);
}

void Mischief::lose_one_way() {
    const LinkNumber link = any_link();
    if (link == 0) return;
    const Way way = random_.chance(0.5) ? Way::to_muster : Way::to_peer;
    parts_.court.note(parts_.clock.now(), fmt::format("fault: link {} is lost {}", link,
                                                      way == Way::to_muster ? "to Muster" : "to its peer"));
    parts_.stage.network.lose(link, way);
}

void Mischief::reboot_server() {
    GameServerActor& server = any_server();
    parts_.court.note(parts_.clock.now(), "fault: the server reboots", {}, server.id());
    if (parts_.stage.conditions.regions > 1 && random_.chance(0.1)) {
        server.move(region_ids[random_.below(2)]);
    } else {
        server.reboot();
    }
}

void Mischief::send_server_off() {
    any_server().leave();
}

void Mischief::take_server_away() {
    GameServerActor& server = any_server();
    parts_.court.note(parts_.clock.now(), "fault: the server is away", {}, server.id());
    server.go_away(between(random_, 1s, 60s));
}

void Mischief::take_matchmaker_away() {
    parts_.court.note(parts_.clock.now(), "fault: a matchmaker is away");
    any_matchmaker().go_away(between(random_, 0s, 60s), random_.chance(0.5));
}

void Mischief::kill_muster() {
    parts_.host.crash();
}

void Mischief::end_muster() {
    parts_.host.shut_down();
}

void Mischief::stop_muster() {
    parts_.host.freeze(between(random_, 500ms, parts_.stage.conditions.faults.freeze_max));
}

void Mischief::stop_muster_inside() {
    parts_.host.stop_inside(between(random_, 500ms, parts_.stage.conditions.faults.freeze_max), parts_.stage.calm_at);
}

// Days ahead, and back after a minute or two (fault 18).
void Mischief::jump_ahead() {
    if (date_is_ahead_) return;
    date_is_ahead_ = true;
    const std::chrono::milliseconds ahead = std::chrono::hours(random_.between(30, 400));
    parts_.court.note(parts_.clock.now(), "fault: the date is days ahead");
    parts_.clock.step_wall(ahead);
    parts_.stage.agenda.in(between(random_, 1s, 150s), [this, ahead] {
        date_is_ahead_ = false;
        parts_.clock.step_wall(-ahead);
        parts_.court.note(parts_.clock.now(), "the date is right again");
    });
}

// Connects and is gone, without a word or with a reset.
void Mischief::pass_by() {
    Network& network = parts_.stage.network;
    const LinkNumber link = network.connect(passer_by_, Port::players, IpAddress::v4({10, 3, 0, 1}));
    parts_.stage.agenda.in(between(random_, 1ms, 200ms), [&network, link, resets = random_.chance(0.5)] {
        if (resets && network.open(link)) {
            network.reset(link);
        } else {
            network.close(link);
        }
    });
}

void Mischief::stop_reading() {
    const LinkNumber link = any_link();
    if (link == 0) return;
    parts_.court.note(parts_.clock.now(), fmt::format("fault: the peer of link {} reads nothing for a while", link));
    parts_.stage.network.stop_reading(link, between(random_, 1s, 20s));
}

void Mischief::change_date() {
    constexpr std::chrono::milliseconds steps[] = {3'600s, -3'600s, 30s, -7'200s};
    const auto step = steps[random_.below(std::size(steps))];
    parts_.court.note(parts_.clock.now(), fmt::format("fault: the date steps by {} s", step.count() / 1000));
    parts_.clock.step_wall(step);
}

void Mischief::fill_disk() {
    parts_.court.note(parts_.clock.now(), "fault: the disk is full");
    parts_.host.disk().set_full(true);
    const std::uint64_t filled = ++disk_filled_;
    parts_.stage.agenda.in(between(random_, 100ms, 20s), [this, filled] {
        if (filled != disk_filled_) return;
        parts_.host.disk().set_full(false);
        parts_.court.note(parts_.clock.now(), "the disk has room again");
    });
}

void Mischief::fail_sync() {
    parts_.host.fail_sync();
}

void Mischief::drain_by_operator() {
    const ServerId server = any_server().id();
    if (server.value != 0) parts_.host.drain({server, random_.chance(0.6)});
}

void Mischief::abort_by_operator() {
    const auto& lobbies = parts_.court.slots().lobbies();
    if (lobbies.empty()) return;
    auto chosen = lobbies.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(lobbies.size())));
    parts_.court.note(parts_.clock.now(), "operator: abort", chosen->first);
    parts_.host.abort(chosen->first);
}

void Mischief::kick_by_operator() {
    const auto& accounts = parts_.stage.accounts;
    if (!accounts.empty()) parts_.host.kick(accounts[random_.below(accounts.size())]);
}

void Mischief::remove_by_operator() {
    const ServerId server = any_server().id();
    if (server.value == 0) return;
    parts_.court.note(parts_.clock.now(), "operator: remove the server", {}, server);
    parts_.host.remove_server(server);
}

// To another time, often just before a day is over, at another speed, or both.
void Mischief::set_clock_by_operator() {
    OperatorClock wish;
    if (random_.chance(0.7)) {
        const bool late = random_.chance(0.5);
        wish.time = GameTime{static_cast<std::uint8_t>(random_.between(1, 7)),
                             static_cast<std::uint8_t>(late ? 23 : random_.between(0, 23)),
                             static_cast<std::uint8_t>(late ? 59 : random_.between(0, 59))};
    }
    if (!wish.time || random_.chance(0.3)) wish.speed = static_cast<std::int32_t>(random_.between(1, 120));
    parts_.host.set_clock(wish);
}

}  // namespace muster::sim
