#include "core/hosts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/safe_text.h"
#include "core/host_events.h"

namespace muster {
namespace {

constexpr std::string_view lost_reason = "Connection lost";
constexpr std::string_view silent_reason = "Silent for too long";
constexpr std::string_view left_reason = "Left";
constexpr std::string_view replaced_reason = "Replaced by another agent";
constexpr std::string_view absent_reason = "Not back since Muster's restart";
// Why one is forgotten.
constexpr std::string_view long_lost = "Lost for too long";
constexpr std::string_view by_operator = "Forgotten by an operator";
constexpr std::string_view room_needed = "Another host needed the room";

float percentage(float told) {
    return std::isfinite(told) ? std::clamp(told, 0.0F, 100.0F) : 0.0F;
}

// What people and programs can work with, whatever was told.
ProcessReport within_bounds(const ProcessReport& told) {
    ProcessReport report = told;
    report.news = ReportedNews::none;
    report.pid = std::max(told.pid, 0);
    report.game_port =
        told.game_port < 0 || told.game_port > std::numeric_limits<std::uint16_t>::max() ? 0 : told.game_port;
    report.server = ServerId(std::max(told.server.value, 0));
    report.started_at = UnixMs(std::max<std::int64_t>(told.started_at.value, 0));
    report.restarts = std::max(told.restarts, 0);
    report.exit_at = UnixMs(std::max<std::int64_t>(told.exit_at.value, 0));
    report.exit_code = std::max(told.exit_code, -1);
    report.exit_signal = std::max(told.exit_signal, 0);
    return report;
}

std::string_view how_it_ended(const ProcessReport& report) {
    if (report.exit_signal != 0) return "signal";
    if (report.exit_code > 0) return "code";
    return report.exit_code == 0 ? "clean" : "unknown";
}

event::OfProcess named(const KnownHost& host, const ProcessReport& report) {
    return {host.name, report.process.string(), report.run.string(), report.pid, report.game_port, report.server};
}

}  // namespace

void Hosts::recover(const Pass& pass, const RecoveredState& recovered) {
    for (const HostRecord& record : recovered.hosts) {
        if (hosts_.size() >= hosts_max) {
            records_.forget(HostRecords::recovered(record));
            continue;
        }
        KnownHost& host = enroll(HostRecords::recovered(record));
        host.last_seen = pass.running;
        if (host.lost()) {
            // One that is lost by a clock that was ahead is lost from now on.
            const std::chrono::milliseconds since(
                std::max<std::int64_t>(parts_.issued.at(pass.now).value - host.lost_at.value, 0));
            forget_later(host, config_.lost_kept - since);
            continue;
        }
        host.due = parts_.timers.start({.first_delay = config_.awaited_max},
                                       [this, number = host.number](const TimerFired& fired) {
                                           if (KnownHost* awaited = find(number))
                                               lose(fired.pass, *awaited, absent_reason);
                                       });
    }
    for (const HostProcessRecord& record : recovered.host_processes) {
        const auto host = by_name_.find(record.host);
        if (host == by_name_.end() || process_count_ >= processes_max) continue;
        auto& processes = hosts_.at(host->second).processes;
        if (processes.size() >= processes_of_host_max) continue;
        const auto [place, is_new] = processes.try_emplace(record.name, HostRecords::recovered(record));
        if (!is_new) continue;
        is_server(host->second, {}, place->second.last.server);
        ++process_count_;
    }
}

Result<HostNumber, HostRefusal> Hosts::hello(const Pass& pass, const Link& from, const HostHello& hello) {
    if (!is_host_name(hello.host.view())) return Failure(HostRefusal::invalid_name);
    const std::string_view proven = parts_.links.proven_name(from);
    if (!proven.empty() && proven != hello.host.view()) {
        ++counts_.refused;
        parts_.log.warning(
            "Refused host {} from {}: its certificate is for {}; agent.name and the certificate's CN differ",
            hello.host.view(), from.peer.to_string(), safe_text(proven));
        return Failure(HostRefusal::name_of_other_certificate);
    }
    if (!hello.address.empty() && !IpAddress::parse(hello.address.view())) return Failure(HostRefusal::invalid_address);
    const auto known = by_name_.find(hello.host.view());
    const bool again = known != by_name_.end();
    if (again) {
        KnownHost& before = hosts_.at(known->second);
        if (before.connected() && before.heard_until(pass.running) - before.last_seen < takeover_after)
            return Failure(HostRefusal::already_registered);
        if (before.connected()) {
            Link* replaced = parts_.links.find(before.link);
            lose(pass, before, replaced_reason);
            if (replaced) parts_.links.close(*replaced);
        }
    } else if (hosts_.size() >= hosts_max && !forget_longest_lost()) {
        return Failure(HostRefusal::too_many_hosts);
    }
    KnownHost newcomer;
    newcomer.name = hello.host.string();
    KnownHost& host = again ? hosts_.at(known->second) : enroll(std::move(newcomer));
    host.address = hello.address.string();
    host.region = hello.region;
    host.version = hello.version.string();
    host.joined_at = parts_.issued.at(pass.now);
    host.lost_at = {};
    host.link = from.id;
    host.peer = from.peer;
    host.last_seen = pass.running;
    host.unread_since.reset();
    host.listing = true;
    host.stored.stale = true;
    for (auto& [name, process] : host.processes) process.told = process.own_told = false;
    if (again) parts_.timers.cancel(host.due);
    host.due = parts_.timers.start({.first_delay = silence_max}, [this, number = host.number](const TimerFired& fired) {
        silence_due(fired.pass, number);
    });
    ++counts_.joined;
    parts_.log.info("Host {} joined ({}, version {})", host.name, host.address, host.version);
    parts_.events.publish(event::HostJoined{host.name, host.address, host.region, host.version, again});
    return host.number;
}

KnownHost& Hosts::enroll(KnownHost&& host) {
    host.number = HostNumber(next_number_++);
    by_name_[host.name] = host.number;
    return hosts_[host.number] = std::move(host);
}

void Hosts::heard(const Pass& pass, HostNumber number) {
    if (KnownHost* host = find(number)) host->last_seen = pass.running;
}

void Hosts::report(const Pass& pass, HostNumber number, const HostReport& report) {
    KnownHost* host = find(number);
    if (!host) return;
    heard(pass, number);
    host->cpu_percent = percentage(report.cpu_percent);
    host->memory_percent = percentage(report.memory_percent);
    host->stored.stale |= std::exchange(host->draining, report.draining) != report.draining;
    if (std::exchange(host->listing, false)) {
        std::vector<std::string> untold;
        for (const auto& [name, process] : host->processes)
            if (!process.told) untold.push_back(name);
        for (const std::string& name : untold) drop_process(*host, name);
    }
    records_.save(*host);
}

Result<void, HostRefusal> Hosts::report(const Pass& pass, HostNumber number, const ProcessReport& report) {
    KnownHost* host = find(number);
    if (!host) return Failure(HostRefusal::invalid_process);
    heard(pass, number);
    if (!is_host_name(report.process.view()) || !is_host_name(report.run.view())) {
        ++counts_.refused;
        return Failure(HostRefusal::invalid_process);
    }
    auto found = host->processes.find(report.process.view());
    if (found == host->processes.end()) {
        while (process_count_ >= processes_max && forget_longest_lost()) continue;
        if (host->processes.size() >= processes_of_host_max || process_count_ >= processes_max) {
            ++counts_.refused;
            return Failure(HostRefusal::too_many_processes);
        }
        found = host->processes.try_emplace(report.process.string()).first;
        ++process_count_;
    }
    HostProcess& process = found->second;
    ProcessReport next = within_bounds(report);
    is_server(number, process.last.server, next.server);
    process.stored.stale |= !HostRecords::same(process.last, next);
    process.last = std::move(next);
    process.told = true;
    if (!process.last.registers_itself || process.last.pid == 0) process.own_server = {};
    tell_news(pass, *host, process, report.news);
    return {};
}

void Hosts::tell_news(const Pass& pass, KnownHost& host, const HostProcess& process, ReportedNews news) {
    const ProcessReport& last = process.last;
    if (news == ReportedNews::none) return;
    if (news == ReportedNews::exited) ++counts_.exits[how_it_ended(last)];
    if (news == ReportedNews::crash_loop) ++counts_.crash_loops;
    if (!may_tell(pass, host)) return;
    const event::OfProcess of = named(host, last);
    switch (news) {
        case ReportedNews::none:
            return;
        case ReportedNews::started:
            parts_.events.publish(event::ProcessStarted{of});
            return;
        case ReportedNews::ready:
            parts_.events.publish(event::ProcessReady{of});
            return;
        case ReportedNews::exited: {
            event::ProcessExited exited{of, {}, {}, last.exit_reason.string()};
            if (last.exit_code >= 0) exited.code = last.exit_code;
            if (last.exit_signal > 0) exited.signal = last.exit_signal;
            parts_.events.publish(exited);
            return;
        }
        case ReportedNews::unhealthy:
            parts_.events.publish(event::ProcessUnhealthy{of});
            return;
        case ReportedNews::crash_loop:
            parts_.log.warning("Process {} of host {} is in a crash loop: {}", last.process.view(), host.name,
                               last.exit_reason.view());
            parts_.events.publish(event::ProcessCrashLoop{of, last.restarts, last.exit_reason.string()});
            return;
    }
}

bool Hosts::may_tell(const Pass& pass, KnownHost& host) {
    if (pass.now - host.minute_began >= std::chrono::minutes(1)) {
        host.minute_began = pass.now;
        host.events_in_minute = 0;
    }
    if (++host.events_in_minute <= events_per_minute_max) return true;
    ++counts_.events_held_back;
    return false;
}

void Hosts::process_gone(HostNumber number, std::string_view process) {
    if (KnownHost* host = find(number)) drop_process(*host, process);
}

void Hosts::drop_process(KnownHost& host, std::string_view process) {
    const auto found = host.processes.find(process);
    if (found == host.processes.end()) return;
    is_server(host.number, found->second.last.server, {});
    records_.forget(host.name, found->second);
    host.processes.erase(found);
    --process_count_;
}

void Hosts::tell_matches(KnownHost& host, HostProcess& process, ServerId server, std::int32_t matches) {
    const bool same = process.own_told && process.own_server == server && process.own_matches == matches;
    process.stored.stale |= process.own_server != server;
    process.own_server = server;
    process.own_matches = matches;
    process.own_told = true;
    if (!same) parts_.links.send(host.link, ProcessMatches{process.last.process, server, matches});
}

void Hosts::leave(HostNumber number) {
    KnownHost* host = find(number);
    if (!host) return;
    parts_.log.info("Host {} left", host->name);
    parts_.events.publish(event::HostLeft{host->name, left_reason, host->processes.size()});
    forget(number, {});
}

void Hosts::link_lost(const Pass& pass, HostNumber number, ConnectionId link) {
    KnownHost* host = find(number);
    if (host && host->link == link) lose(pass, *host, lost_reason);
}

void Hosts::lose(const Pass& pass, KnownHost& host, std::string_view reason) {
    host.link = {};
    host.unread_since.reset();
    host.listing = false;
    host.lost_at = parts_.issued.at(pass.now);
    host.last_seen = pass.running;
    ++counts_.losses;
    parts_.timers.cancel(host.due);
    forget_later(host, config_.lost_kept);
    parts_.log.warning("Host {} is lost: {}", host.name, reason);
    parts_.events.publish(event::HostLeft{host.name, reason, host.processes.size()});
    settle_all(host.number);
    host.stored.stale = true;
    records_.save(host);
}

// A sign of life only notes its time; the timer looks at that time when it fires, and moves itself on.
void Hosts::silence_due(const Pass& pass, HostNumber number) {
    KnownHost* host = find(number);
    if (!host || !host->connected()) return;
    const Time due = host->last_seen + silence_max;
    const Time heard_until = host->heard_until(pass.running);
    if (heard_until < due) {
        const Duration least = host->unread_since ? unread_look_every : Timers::delay_least;
        return parts_.timers.restart(host->due, std::max<Duration>(due - heard_until, least));
    }
    Link* link = parts_.links.find(host->link);
    lose(pass, *host, silent_reason);
    if (link) parts_.links.close(*link);
}

void Hosts::forget_later(KnownHost& host, Duration delay) {
    host.due = parts_.timers.start({.first_delay = delay},
                                   [this, number = host.number](const TimerFired&) { forget(number, long_lost); });
}

Hosts::Forgetting Hosts::forget(std::string_view name) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return Forgetting::unknown;
    if (hosts_.at(found->second).connected()) return Forgetting::connected;
    forget(found->second, by_operator);
    return Forgetting::done;
}

// Without a reason, it has left, and that was told.
void Hosts::forget(HostNumber number, std::string_view why) {
    const auto found = hosts_.find(number);
    if (found == hosts_.end()) return;
    const KnownHost& host = found->second;
    settle_all(number);
    records_.forget(host);
    if (!why.empty()) {
        parts_.log.info("Host {} is forgotten: {}", host.name, why);
        parts_.events.publish(event::HostForgotten{host.name, why});
    }
    parts_.timers.cancel(host.due);
    process_count_ -= host.processes.size();
    for (const auto& [name, process] : host.processes) is_server(number, process.last.server, {});
    by_name_.erase(host.name);
    hosts_.erase(found);
}

// One that is awaited goes after all that are lost.
bool Hosts::forget_longest_lost() {
    const auto lost_at = [](const KnownHost& host) {
        return host.lost() ? host.lost_at.value : std::numeric_limits<std::int64_t>::max();
    };
    const KnownHost* longest = nullptr;
    for (const auto& [number, host] : hosts_) {
        if (host.connected()) continue;
        if (!longest || lost_at(host) < lost_at(*longest)) longest = &host;
    }
    if (!longest) return false;
    forget(longest->number, room_needed);
    return true;
}

void Hosts::paused(const Pass& pass, HostNumber number) {
    KnownHost* host = find(number);
    if (host && host->connected() && !host->unread_since) host->unread_since = pass.running;
}

void Hosts::resumed(const Pass& pass, HostNumber number) {
    KnownHost* host = find(number);
    if (!host || !host->unread_since) return;
    const Duration unread = pass.running - *host->unread_since;
    host->unread_since.reset();
    // What was read last may have been a sign of life.
    host->last_seen = std::min(host->last_seen + unread, pass.running);
}

KnownHost* Hosts::find(HostNumber number) {
    const auto found = hosts_.find(number);
    return found == hosts_.end() ? nullptr : &found->second;
}

const KnownHost* Hosts::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &hosts_.at(found->second);
}

const KnownHost* Hosts::host_of(ServerId server) const {
    const auto found = by_server_.find(server);
    return found == by_server_.end() ? nullptr : &hosts_.at(found->second);
}

void Hosts::is_server(HostNumber host, ServerId before, ServerId now) {
    if (before == now) return;
    const auto found = by_server_.find(before);
    if (found != by_server_.end() && found->second == host) by_server_.erase(found);
    if (now.value != 0) by_server_[now] = host;
}

HostCounts Hosts::counts() const {
    HostCounts counts = counts_;
    for (const auto& [number, host] : hosts_) {
        ++(host.connected() ? counts.connected : host.lost() ? counts.lost : counts.awaited);
        if (!host.connected()) continue;
        for (const auto& [name, process] : host.processes)
            ++counts.processes[static_cast<std::size_t>(process.last.state)];
    }
    return counts;
}

}  // namespace muster
