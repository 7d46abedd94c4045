#include "core/matchmakers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "core/link_table.h"
#include "core/operator_name.h"

namespace muster {
namespace {

bool is_matchmaker_id(std::string_view id) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    };
    return !id.empty() && id.size() <= MatchmakerIdText::size_max && std::all_of(id.begin(), id.end(), fits);
}

}  // namespace

bool Matchmaker::serves(RegionId region) const {
    return std::find(regions.begin(), regions.end(), region) != regions.end();
}

std::string http_matchmaker_id(std::string_view operator_name) {
    const bool is_nobodys = operator_name.empty() || operator_name == http_matchmaker_name;
    return fmt::format("@{}", is_nobodys ? unnamed_matchmaker : operator_name);
}

Matchmakers::Matchmakers(MatchmakersConfig config, Timers& timers) : config_(std::move(config)), timers_(timers) {}

void Matchmakers::configure(MatchmakersConfig config) {
    config.regions = std::move(config_.regions);
    config_ = std::move(config);
    // Timers stand where the old limit ended.
    for (auto& [number, matchmaker] : by_number_) timers_.restart(matchmaker.silence, Timers::delay_least);
}

Result<Matchmakers::Greeting, Refusal> Matchmakers::handshake(const Pass& pass, ConnectionId from,
                                                              const MatchmakerHandshake& hello) {
    if (!is_matchmaker_id(hello.matchmaker.view())) return Failure(Refusal::invalid_matchmaker_id);
    const auto configured = [this](RegionId id) {
        return std::any_of(config_.regions.begin(), config_.regions.end(),
                           [id](const Region& region) { return region.id == id; });
    };
    const auto& regions = hello.regions.items;
    if (regions.empty() || !std::all_of(regions.begin(), regions.end(), configured))
        return Failure(Refusal::invalid_region);

    ConnectionId replaced;
    if (const Matchmaker* known = find(hello.matchmaker.view())) {
        if (known->heard_until(pass.running) - known->last_seen < config_.heartbeat_interval * 3 / 2)
            return Failure(Refusal::matchmaker_already_registered);
        replaced = known->link;
        forget(known->number);
    }
    const MatchmakerNumber number(next_number_++);
    Matchmaker& matchmaker = by_number_[number];
    matchmaker.id = hello.matchmaker.string();
    matchmaker.number = number;
    matchmaker.link = from;
    matchmaker.regions = regions;
    matchmaker.last_seen = pass.running;
    by_id_[matchmaker.id] = number;
    matchmaker.silence = timers_.start({.first_delay = config_.heartbeat_timeout},
                                       [this, number](const TimerFired& fired) { silence_due(fired.pass, number); });
    return Greeting{number, replaced};
}

void Matchmakers::heard(const Pass& pass, MatchmakerNumber number) {
    const auto found = by_number_.find(number);
    if (found != by_number_.end()) found->second.last_seen = pass.running;
}

void Matchmakers::link_lost(MatchmakerNumber number, ConnectionId link) {
    const Matchmaker* matchmaker = find(number);
    if (matchmaker && matchmaker->link == link) forget(number);
}

void Matchmakers::paused(const Pass& pass, MatchmakerNumber number) {
    const auto found = by_number_.find(number);
    if (found != by_number_.end() && !found->second.unread_since) found->second.unread_since = pass.running;
}

void Matchmakers::resumed(const Pass& pass, MatchmakerNumber number) {
    const auto found = by_number_.find(number);
    if (found == by_number_.end() || !found->second.unread_since) return;
    Matchmaker& matchmaker = found->second;
    const Duration unread = pass.running - *matchmaker.unread_since;
    matchmaker.unread_since.reset();
    // What was read last may have been a sign of life.
    matchmaker.last_seen = std::min(matchmaker.last_seen + unread, pass.running);
}

const Matchmaker* Matchmakers::find(MatchmakerNumber number) const {
    const auto found = by_number_.find(number);
    return found == by_number_.end() ? nullptr : &found->second;
}

const Matchmaker* Matchmakers::find(std::string_view id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : find(found->second);
}

// A sign of life only notes its time; the timer looks at that time when it fires, and moves itself on.
void Matchmakers::silence_due(const Pass& pass, MatchmakerNumber number) {
    const Matchmaker* matchmaker = find(number);
    MUSTER_CHECK(matchmaker != nullptr, "a forgotten matchmaker's timer is cancelled");
    const Time due = matchmaker->last_seen + config_.heartbeat_timeout;
    const Time heard_until = matchmaker->heard_until(pass.running);
    if (heard_until < due) {
        const Duration least = matchmaker->unread_since ? unread_look_every : Timers::delay_least;
        return timers_.restart(matchmaker->silence, std::max<Duration>(due - heard_until, least));
    }
    silent_.push_back(matchmaker->link);
    forget(number);
}

void Matchmakers::forget(MatchmakerNumber number) {
    const auto found = by_number_.find(number);
    timers_.cancel(found->second.silence);
    by_id_.erase(found->second.id);
    by_number_.erase(found);
}

}  // namespace muster
