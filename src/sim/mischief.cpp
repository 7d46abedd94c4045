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

std::vector<Mischief::Kind> Mischief::kinds() const {
    const FaultRates& rates = parts_.stage.conditions.faults;
    return {
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
        {rates.wall_step, &Mischief::change_date},
        {rates.disk_full, &Mischief::fill_disk},
        {rates.operator_drain, &Mischief::drain_by_operator},
        {rates.operator_abort, &Mischief::abort_by_operator},
        {rates.operator_kick, &Mischief::kick_by_operator},
        {rates.operator_clock, &Mischief::set_clock_by_operator},
    };
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
