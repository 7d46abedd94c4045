#include "core/view_walk.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>
#include <vector>

#include "core/core.h"

namespace muster {
namespace {

std::int64_t whole_ms(Duration d) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

ServerRow row_of(const Server& server, const Pass& pass) {
    ServerRow row;
    row.id = server.id;
    row.ip = server.endpoint.ip;
    row.port = server.endpoint.port;
    row.region = server.region;
    row.status = server.status();
    row.connected = server.connected();
    row.drained_by_server = server.drained_by_server;
    row.drained_by_operator = server.drained_by_operator;
    row.drain = server.drain();
    row.braked = server.braked;
    row.load = server.load();
    row.reported_matches = server.reported_matches;
    row.held = server.held;
    row.offered = server.offered;
    row.max_matches = server.max_matches;
    row.cpu_percent = server.cpu_percent;
    row.memory_percent = server.memory_percent;
    row.jitter_ms = server.jitter_ms;
    row.rtt_us = server.rtt_us;
    row.epoch = server.epoch;
    row.last_heartbeat_ms_ago = std::max<std::int64_t>(whole_ms(pass.running - server.last_heartbeat), 0);
    row.choices = server.choices;
    row.registered_at = server.registered_at;
    return row;
}

std::uint64_t value_of(const std::map<RegionId, std::uint64_t>& counts, RegionId region) {
    const auto found = counts.find(region);
    return found == counts.end() ? 0 : found->second;
}

void add(Distribution& sum, const Histogram& one) {
    sum.bounds.assign(one.bounds().begin(), one.bounds().end());
    sum.counts.resize(one.counts().size());
    for (std::size_t i = 0; i < sum.counts.size(); ++i) sum.counts[i] += one.counts()[i];
}

void add_regions(const Core& core, const Pass& pass, FleetView& view) {
    const auto lost = core.losses().servers(pass.now);
    core.region_figures().for_each_region([&](RegionId id, const RegionFigures::OfRegion& figures) {
        add(view.allocation_seconds, figures.allocation_seconds);
        for (const auto& [label, count] : figures.failures) view.failures[std::string(label)] += count;
        if (id.value < 0) return;  // what named no region of ours
        RegionRow row;
        row.id = id;
        row.name = figures.name;
        row.requests = value_of(core.matches().figures().requests, id);
        row.retries = value_of(core.matches().figures().retries, id);
        row.successes = figures.allocations;
        row.timeouts = figures.timeouts;
        row.lost = value_of(lost, id);
        for (const auto& [label, count] : figures.failures) row.failures.emplace(label, count);
        view.regions.push_back(std::move(row));
    });
}

ProcessRow row_of(const HostProcess& process) {
    const ProcessReport& last = process.last;
    ProcessRow row;
    row.name = last.process.string();
    row.run = last.run.string();
    row.state = last.state;
    row.pid = last.pid;
    row.port = last.game_port;
    row.server = process.server();
    row.started_at = last.started_at;
    row.restarts = last.restarts;
    row.exit_at = last.exit_at;
    if (last.exit_code >= 0) row.exit_code = last.exit_code;
    if (last.exit_signal > 0) row.exit_signal = last.exit_signal;
    row.exit_reason = last.exit_reason.string();
    row.last_lines = last.last_lines.string();
    return row;
}

HostRow row_of(const KnownHost& host) {
    HostRow row;
    row.name = host.name;
    row.address = host.address;
    row.region = host.region;
    row.connected = host.connected();
    row.draining = host.draining;
    row.version = host.version;
    row.cpu_percent = host.cpu_percent;
    row.memory_percent = host.memory_percent;
    row.joined_at = host.joined_at;
    row.lost_at = host.lost_at;
    for (const auto& [name, process] : host.processes) row.processes.push_back(row_of(process));
    return row;
}

HostTroubles troubles_of(const Core& core) {
    constexpr std::size_t lost_told_max = 20;
    HostTroubles troubles;
    core.hosts().for_each([&](const KnownHost& host) {
        if (host.lost() && troubles.lost.size() < lost_told_max) {
            HostTroubles::Lost lost{host.name};
            for (const auto& [name, process] : host.processes) {
                const ServerId id = process.server();
                if (id.value == 0) continue;
                ++lost.servers;
                if (const Server* server = core.fleet().find(id))
                    lost.matches += static_cast<std::size_t>(server->held);
            }
            troubles.lost.push_back(std::move(lost));
        }
        if (!host.connected()) return;
        for (const auto& [name, process] : host.processes) {
            if (process.last.state != ProcessState::crash_loop) continue;
            if (troubles.crash_loops++ == 0) troubles.crash_loop_example = host.name + "/" + name;
        }
    });
    return troubles;
}

}  // namespace

std::size_t WalkPace::rows(const Pass& pass) {
    const Time before = std::exchange(before_, pass.now).value_or(pass.now);
    return std::max(rows_least, static_cast<std::size_t>(whole_ms(pass.now - before)) * rows_per_ms);
}

bool FleetWalk::step(const Core& core, const Pass& pass, UnixMs time) {
    const Fleet& fleet = core.fleet();
    const Matches& matches = core.matches();
    if (view_.servers.empty()) {
        view_.servers.reserve(fleet.size());
        view_.matches.reserve(matches.size());
    }
    std::size_t left = pace_.rows(pass);
    const ServerId server = view_.servers.empty() ? ServerId{} : view_.servers.back().id;
    const LobbyId lobby = view_.matches.empty() ? LobbyId{} : view_.matches.back().lobby;
    const auto add_server = [&](const Server& one) { view_.servers.push_back(row_of(one, pass)); };
    const auto add_match = [&](const Match& one) {
        view_.matches.push_back(match_row_of(one.record, static_cast<std::int32_t>(one.used.size())));
    };
    if (!fleet.visit_after(server, left, add_server) || !matches.visit_after(lobby, left, add_match)) return false;
    add_the_rest(core, pass);
    view_.time = time;
    return true;
}

// What is few, and what is counted.
void FleetWalk::add_the_rest(const Core& core, const Pass& pass) {
    core.matchmakers().for_each([&](const Matchmaker& matchmaker) {
        view_.matchmakers.push_back({matchmaker.id, matchmaker.regions,
                                     std::max<std::int64_t>(whole_ms(pass.running - matchmaker.last_seen), 0)});
    });
    std::sort(view_.matchmakers.begin(), view_.matchmakers.end(),
              [](const MatchmakerRow& one, const MatchmakerRow& other) { return one.id < other.id; });
    add_regions(core, pass, view_);
    const RecentLosses::Aborts aborts = core.losses().aborts(pass.now);
    view_.aborts = aborts.count;
    view_.abort_reason = aborts.reason;
    view_.had_servers = core.losses().had_servers();
    view_.allocations_in_flight = core.matches().in_flight();
    const PlayerFigures& players = core.players().figures();
    view_.players_connected = players.connected;
    view_.players_in_grace = players.in_grace;
    view_.players_idle = players.idle;
    add(view_.player_rtt_seconds, players.rtt_seconds);
    const GameTime shown = core.world().shown();
    view_.clock = {shown.day, shown.hour, shown.minute, core.world().speed()};
    for (const Port port : {Port::servers, Port::matchmakers}) {
        if (const auto recent = core.refused_registrations().recent(pass.now, port))
            view_.refused.push_back({port, recent->count, std::string(text(recent->most)), recent->last.to_string()});
    }
    view_.hosts = troubles_of(core);
    view_.store_up = core.ledger().store_up();
}

bool HostsWalk::step(const Core& core, const Pass&, UnixMs) {
    const std::string last = view_.hosts.empty() ? std::string() : view_.hosts.back().name;
    return core.hosts().visit_after(last, hosts_per_step,
                                    [this](const KnownHost& host) { view_.hosts.push_back(row_of(host)); });
}

bool PlayersWalk::step(const Core& core, const Pass& pass, UnixMs) {
    place_ = core.players().visit_from(place_, pace_.rows(pass), [this](const PlayerView& player) {
        PlayerRow row;
        row.id = player.player;
        row.name = player.name;
        row.connected = player.connected;
        row.idle = player.idle;
        row.latency_us = player.latency_us;
        row.jitter_us = player.jitter_us;
        row.connected_at = player.connected_at;
        row.last_message_ms_ago = whole_ms(player.since_message);
        if (player.since_ping_sent) row.last_ping_sent_ms_ago = whole_ms(*player.since_ping_sent);
        row.last_ping_received_ms_ago = whole_ms(player.since_echo);
        row.entity = player.entity;
        row.failed_heartbeats = player.failed_heartbeats;
        view_.players.push_back(std::move(row));
    });
    return place_ == Sessions::none;
}

PlayersView PlayersWalk::take() {
    std::vector<PlayerRow>& seen = view_.players;
    std::vector<std::size_t> order(seen.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&seen](std::size_t one, std::size_t other) {
        return std::pair(seen[one].id, one) < std::pair(seen[other].id, other);
    });
    PlayersView view;
    view.players.reserve(seen.size());
    for (const std::size_t at : order) {
        if (!view.players.empty() && view.players.back().id == seen[at].id) view.players.pop_back();
        view.players.push_back(std::move(seen[at]));
    }
    return view;
}

}  // namespace muster
