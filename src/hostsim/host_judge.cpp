#include "hostsim/host_judge.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace muster::hostsim {

using namespace std::chrono_literals;
using How = MatchOver::How;

namespace {

constexpr std::size_t objections_max = 5;

constexpr Duration good_life = 60s;
constexpr Duration loop_window = 5min;
constexpr std::size_t loop_failures = 5;

const RunConfig* run_named(const HostAgent& agent, const std::string& name) {
    const auto& runs = agent.runs();
    const auto found = std::find_if(runs.begin(), runs.end(), [&](const RunConfig& each) { return each.name == name; });
    return found == runs.end() ? nullptr : &*found;
}

}  // namespace

void HostJudge::object(Time now, const std::string& text) {
    if (objections_.size() < objections_max)
        objections_.push_back(fmt::format("at {:.1f} s: {}", to_seconds(now - Time{}), text));
}

const Game* HostJudge::game(const Machine& machine, const MachineProcess& process) const {
    const auto found = games_.find({machine.name(), process.pid});
    return found == games_.end() ? nullptr : &found->second;
}

void HostJudge::look(Time now, const std::vector<HostView>& hosts, const MusterModel& muster) {
    last_look_ = now;
    for (const HostView& host : hosts) {
        look_at_ports(now, host);
        look_at_counts(now, host);
        look_at_shortage(now, host);
        look_at_owners(now, host);
        look_at_pauses(now, host);
    }
    look_at_matches(now, hosts, muster);
}

void HostJudge::look_at_ports(Time now, const HostView& host) {
    std::map<std::uint16_t, const MachineProcess*> given;
    for (const auto& [pid, process] : host.machine.processes()) {
        if (process.leader != 0) continue;
        ++looked_at_;
        const auto [other, is_new] = given.try_emplace(process.port, &process);
        if (!is_new)
            object(now, fmt::format("{}: port {} was given to {} and {}", host.machine.name(), process.port,
                                    other->second->name, process.name));
    }
}

void HostJudge::look_at_counts(Time now, const HostView& host) {
    if (!host.agent) return;
    std::map<std::string, std::int32_t> running;
    for (const auto& [pid, process] : host.machine.processes())
        if (process.leader == 0) ++running[process.run];
    for (const auto& [run, count] : running) {
        const RunConfig* config = run_named(*host.agent, run);
        if (config && count > config->count_max)
            object(now, fmt::format("{}: {} processes of {}, whose count_max is {}", host.machine.name(), count, run,
                                    config->count_max));
    }
}

void HostJudge::look_at_shortage(Time now, const HostView& host) {
    for (const auto& [run, wanted] : host.wanted) {
        std::int32_t running = 0;
        for (const auto& [pid, process] : host.machine.processes())
            running += process.run == run && process.leader == 0;
        const std::pair key{host.machine.name(), run};
        if (!host.agent || running >= wanted) {
            short_since_.erase(key);
            continue;
        }
        const Time since = short_since_.try_emplace(key, now).first->second;
        const bool loop = std::any_of(paces_.begin(), paces_.end(), [&](const auto& each) {
            return each.first.first == key.first && each.first.second.starts_with(run + "-") && each.second.most.loop;
        });
        if (now - since > (loop ? Duration(5min) : Duration(60s)) + slack)
            object(now, fmt::format("{}: {} of {} processes of {} for too long", key.first, running, wanted, run));
    }
}

void HostJudge::look_at_owners(Time now, const HostView& host) {
    for (const auto& [pid, process] : host.machine.processes()) {
        const GameKey key{host.machine.name(), pid};
        // An agent that was killed a moment ago owns nothing, and neither has the next one had its time.
        if (!host.agent || host.agent->owns(process)) {
            unowned_since_.erase(key);
            continue;
        }
        const Time since = unowned_since_.try_emplace(key, now).first->second;
        if (now - since > owner_time + slack)
            object(now, fmt::format("{}: process {} ({}{}) has no owner", host.machine.name(), pid, process.name,
                                    process.leader ? ", a child" : ""));
    }
}

Duration HostJudge::Pauses::failed(Time now, Duration ran, bool forgiving) {
    if (ran >= good_life) {
        short_lives = 0;
        if (std::exchange(loop, false) && forgiving) failures.clear();
    }
    failures.push_back(now);
    while (failures.front() <= now - loop_window) failures.pop_front();
    if (loop || failures.size() >= loop_failures) {
        loop = true;
        return 5min;
    }
    return std::min<Duration>(60s, std::chrono::seconds(1LL << std::min(short_lives++, 6)));
}

void HostJudge::exited(Time now, const Machine& machine, const MachineProcess& process, bool certain) {
    Pace& pace = paces_[{machine.name(), process.name}];
    const Duration ran = now - pace.started_at;
    pace.pause_most = pace.most.failed(now, ran, false);
    pace.known = certain;
    if (!certain && ran + slack >= good_life) pace.least = {};  // the agent sees it a little later
    if (!certain) return;
    pace.exited_at = now;
    pace.pause_least = pace.least.failed(now, ran, true);
}

void HostJudge::started(Time now, const Machine& machine, const MachineProcess& process) {
    Pace& pace = paces_[{machine.name(), process.name}];
    // What is started sooner than that burns the machine.
    if (pace.known && now - pace.exited_at < pace.pause_least)
        object(now, fmt::format("{}: {} was started again after {:.1f} s instead of {:.1f} s", machine.name(),
                                process.name, to_seconds(now - pace.exited_at), to_seconds(pace.pause_least)));
    pace.known = false;
    pace.started_at = now;
}

void HostJudge::look_at_pauses(Time now, const HostView& host) {
    if (!host.agent) return;
    for (auto& [key, pace] : paces_) {
        if (key.first != host.machine.name() || !pace.known) continue;
        if (now - pace.exited_at <= pace.pause_most + slack) continue;
        object(now, fmt::format("{}: {} ended and was not started again within {:.1f} s", key.first, key.second,
                                to_seconds(pace.pause_most)));
        pace.known = false;
    }
}

void HostJudge::disturbed(const std::string& host) {
    for (auto& [key, pace] : paces_) {
        if (key.first != host) continue;
        pace.known = false;
        pace.least = {};
    }
    agent_changed(host);
}

void HostJudge::agent_changed(const std::string& host) {
    for (auto& [key, pace] : paces_)
        if (key.first == host) pace.pause_most = Duration::max() / 2;
    std::erase_if(short_since_, [&host](const auto& each) { return each.first.first == host; });
    std::erase_if(unowned_since_, [&host](const auto& each) { return each.first.first == host; });
}

void HostJudge::match_over(const MatchOver& over, const Machine& machine) {
    ++looked_at_;
    if (over.how == How::ended && crashed_.contains(over.lobby))
        object(last_look_, fmt::format("{}: match {} is told as ended though its process crashed", machine.name(),
                                       over.lobby.value));
    if (!over.was_accepted || over.how == How::by_operator || over.how == How::declined) return;
    for (const auto& [pid, process] : machine.processes()) {
        const Game* playing = process.leader == 0 && process.port == over.at.port ? game(machine, process) : nullptr;
        if (!playing || playing->playing() != over.lobby || playing->hung() || excused_.contains(process.life))
            continue;
        object(last_look_, fmt::format("{}: match {} was lost at Muster while {} plays it", machine.name(),
                                       over.lobby.value, process.name));
    }
}

void HostJudge::stopping(const Machine& machine, const MachineProcess& process, const MusterModel& muster) {
    const Game* playing = game(machine, process);
    if (!playing || !playing->playing() || playing->hung() || excused_.contains(process.life)) return;
    const auto server = muster.servers().find({machine.name(), process.port});
    if (server == muster.servers().end() || !server->second.match) return;
    const ModelMatch& match = *server->second.match;
    if (match.accepted && match.lobby == *playing->playing())
        object(last_look_,
               fmt::format("{}: {} is ended while it plays match {}", machine.name(), process.name, match.lobby.value));
}

void HostJudge::told(const Machine& machine, const MachineProcess& process, LobbyId lobby) {
    const Game* playing = game(machine, process);
    if (!playing || !playing->playing() || excused_.contains(process.life)) return;
    object(last_look_, fmt::format("{}: {} is told of match {} while it plays {}", machine.name(), process.name,
                                   lobby.value, playing->playing()->value));
}

void HostJudge::look_at_matches(Time now, const std::vector<HostView>& hosts, const MusterModel& muster) {
    std::map<LobbyId, Time> stale;
    for (const auto& [at, server] : muster.servers()) {
        if (!server.match || !server.match->accepted || !muster.up()) continue;
        const auto host = std::find_if(hosts.begin(), hosts.end(),
                                       [&at](const HostView& each) { return each.machine.name() == at.host; });
        if (host == hosts.end() || !host->agent || !host->linked) continue;
        const LobbyId lobby = server.match->lobby;
        const bool played =
            std::any_of(host->machine.processes().begin(), host->machine.processes().end(), [&](const auto& each) {
                const Game* one = each.second.leader == 0 ? game(host->machine, each.second) : nullptr;
                return each.second.port == at.port && one && one->playing() == lobby;
            });
        if (played) continue;
        const auto before = stale_since_.find(lobby);
        const Time since = before == stale_since_.end() ? now : before->second;
        stale[lobby] = since;
        if (now - since > stale_time)
            object(now, fmt::format("{}: Muster still holds match {}, which nobody plays", at.host, lobby.value));
    }
    stale_since_ = std::move(stale);
}

}  // namespace muster::hostsim
