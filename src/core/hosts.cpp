#include "core/hosts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/host_events.h"

namespace muster {
namespace {

constexpr std::string_view lost_reason = "Connection lost";
constexpr std::string_view silent_reason = "Silent for too long";
constexpr std::string_view left_reason = "Left";
constexpr std::string_view replaced_reason = "Replaced by another agent";

// Names stand in paths, so they have few letters.
bool is_plain_name(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    };
    return !name.empty() && name != "." && name != ".." && std::all_of(name.begin(), name.end(), fits);
}

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

Result<HostNumber, HostRefusal> Hosts::hello(const Pass& pass, const Link& from, const HostHello& hello) {
    if (!is_plain_name(hello.host.view())) return Failure(HostRefusal::invalid_name);
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
    KnownHost& host = again ? hosts_.at(known->second) : enroll(hello.host.string());
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

KnownHost& Hosts::enroll(const std::string& name) {
    const HostNumber number(next_number_++);
    KnownHost& host = hosts_[number];
    host.number = number;
    host.name = name;
    by_name_[name] = number;
    return host;
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
    host->draining = report.draining;
    if (!std::exchange(host->listing, false)) return;
    process_count_ -= std::erase_if(host->processes, [this, number](const auto& each) {
        if (!each.second.told) is_server(number, each.second.last.server, {});
        return !each.second.told;
    });
}

Result<void, HostRefusal> Hosts::report(const Pass& pass, HostNumber number, const ProcessReport& report) {
    KnownHost* host = find(number);
    if (!host) return Failure(HostRefusal::invalid_process);
    heard(pass, number);
    if (!is_plain_name(report.process.view()) || !is_plain_name(report.run.view())) {
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
    KnownHost* host = find(number);
    if (!host) return;
    const auto found = host->processes.find(process);
    if (found == host->processes.end()) return;
    is_server(number, found->second.last.server, {});
    host->processes.erase(found);
    --process_count_;
}

void Hosts::tell_matches(KnownHost& host, HostProcess& process, ServerId server, std::int32_t matches) {
    const bool same = process.own_told && process.own_server == server && process.own_matches == matches;
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
    settle_all(number);
    forget(number);
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
    host.due = parts_.timers.start({.first_delay = lost_kept},
                                   [this, number = host.number](const TimerFired&) { forget(number); });
    parts_.log.warning("Host {} is lost: {}", host.name, reason);
    parts_.events.publish(event::HostLeft{host.name, reason, host.processes.size()});
    settle_all(host.number);
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

void Hosts::forget(HostNumber number) {
    const auto found = hosts_.find(number);
    if (found == hosts_.end()) return;
    parts_.timers.cancel(found->second.due);
    process_count_ -= found->second.processes.size();
    for (const auto& [name, process] : found->second.processes) is_server(number, process.last.server, {});
    by_name_.erase(found->second.name);
    hosts_.erase(found);
}

bool Hosts::forget_longest_lost() {
    const KnownHost* longest = nullptr;
    for (const auto& [number, host] : hosts_) {
        if (host.connected()) continue;
        if (!longest || host.last_seen < longest->last_seen) longest = &host;
    }
    if (!longest) return false;
    forget(longest->number);
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

void Hosts::ask(std::uint64_t number, std::string_view name, HostCommand command) {
    using Kind = HostVerdict::Kind;
    const auto known = by_name_.find(name);
    if (known == by_name_.end()) return verdicts_.push_back({number, Kind::no_host});
    const KnownHost& host = hosts_.at(known->second);
    const auto names_unknown = [&host](const auto& wish) {
        using Wish = std::decay_t<decltype(wish)>;
        if constexpr (std::same_as<Wish, RestartProcess> || std::same_as<Wish, ReadLog>) {
            return !host.processes.contains(wish.process.view());
        }
        return false;
    };
    if (std::visit(names_unknown, command)) return verdicts_.push_back({number, Kind::no_process});
    if (!host.connected()) return verdicts_.push_back({number, Kind::away});
    const auto waiting = std::count_if(questions_.begin(), questions_.end(),
                                       [&host](const auto& each) { return each.second.host == host.number; });
    if (static_cast<std::size_t>(waiting) >= questions_of_host_max) return verdicts_.push_back({number, Kind::busy});

    const std::uint32_t question = next_question_++;
    const TimerId limit = parts_.timers.start({.first_delay = answer_limit},
                                              [this, question](const TimerFired&) { settle(question, Kind::late); });
    questions_[question] = {number, host.number, {}, limit};
    std::visit(
        [&](auto& wish) {
            wish.question = question;
            parts_.links.send(host.link, wish);
        },
        command);
}

void Hosts::answered(HostNumber number, const HostAnswer& answer) {
    const auto found = questions_.find(answer.question);
    if (found == questions_.end() || found->second.host != number) return;
    settle(answer.question, answer.done ? HostVerdict::Kind::done : HostVerdict::Kind::refused, answer.error.string());
}

void Hosts::log_part(HostNumber number, const HostLogPart& part) {
    const auto found = questions_.find(part.question);
    if (found == questions_.end() || found->second.host != number) return;
    std::string& text = found->second.text;
    const std::size_t room =
        static_cast<std::size_t>(log_bytes_max) - std::min<std::size_t>(text.size(), log_bytes_max);
    text += utf8_start(part.text.view(), room);
    if (part.last) settle(part.question, HostVerdict::Kind::done, std::move(text), part.position);
}

void Hosts::settle(std::uint32_t question, HostVerdict::Kind kind, std::string text, std::int64_t position) {
    const auto found = questions_.find(question);
    if (found == questions_.end()) return;
    parts_.timers.cancel(found->second.limit);
    verdicts_.push_back({found->second.asker, kind, std::move(text), position});
    questions_.erase(found);
}

void Hosts::settle_all(HostNumber number) {
    std::vector<std::uint32_t> open;
    for (const auto& [question, each] : questions_)
        if (each.host == number) open.push_back(question);
    for (const std::uint32_t question : open) settle(question, HostVerdict::Kind::away);
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
        ++(host.connected() ? counts.connected : counts.lost);
        if (!host.connected()) continue;
        for (const auto& [name, process] : host.processes)
            ++counts.processes[static_cast<std::size_t>(process.last.state)];
    }
    return counts;
}

}  // namespace muster
