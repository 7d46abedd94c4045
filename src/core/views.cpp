#include "core/views.h"

#include <algorithm>
#include <chrono>
#include <utility>

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
    row.braked = server.braked;
    row.load = server.load();
    row.reported_matches = server.reported_matches;
    row.held = server.held;
    row.offered = server.offered;
    row.max_matches = server.max_matches;
    row.cpu_percent = server.cpu_percent;
    row.memory_percent = server.memory_percent;
    row.jitter_ms = static_cast<float>(server.jitter_ms);
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

void add_regions(const Core& core, FleetView& view) {
    core.telemetry().for_each_region([&](RegionId id, const Telemetry::OfRegion& figures) {
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
        for (const auto& [label, count] : figures.failures) row.failures.emplace(label, count);
        view.regions.push_back(std::move(row));
    });
}

}  // namespace

MatchRow match_row_of(const MatchRecord& record, std::int32_t tokens_used) {
    MatchRow row;
    row.lobby = record.lobby;
    row.server = record.server;
    row.region = record.region;
    row.state = record.state;
    row.game_type = record.game_type;
    row.game_mode = record.game_mode;
    row.player_count = record.player_count;
    row.average_rating = record.average_rating;
    row.tokens_used = tokens_used;
    row.chat_server = record.chat_server;
    row.reason = record.reason;
    row.requested_at = record.requested_at;
    row.allocated_at = record.allocated_at;
    row.ready_at = record.ready_at;
    row.started_at = record.started_at;
    row.ended_at = record.ended_at;
    return row;
}

FleetView fleet_view_of(const Core& core, const Pass& pass, UnixMs time) {
    FleetView view;
    view.time = time;
    view.servers.reserve(core.fleet().size());
    core.fleet().for_each([&](const Server& server) { view.servers.push_back(row_of(server, pass)); });
    view.matches.reserve(core.matches().size());
    core.matches().for_each([&](const Match& match) {
        view.matches.push_back(match_row_of(match.record, static_cast<std::int32_t>(match.used.size())));
    });
    core.chat_servers().for_each([&](const ChatServer& chat_server) {
        if (chat_server.id == operator_chat_server) return;
        view.managers.push_back({chat_server.id, chat_server.regions,
                                 std::max<std::int64_t>(whole_ms(pass.running - chat_server.last_seen), 0)});
    });
    std::sort(view.managers.begin(), view.managers.end(),
              [](const ManagerRow& one, const ManagerRow& other) { return one.id < other.id; });
    add_regions(core, view);
    view.allocations_in_flight = core.matches().in_flight();
    const PlayerFigures& players = core.players().figures();
    view.players_connected = players.connected;
    view.players_in_grace = players.in_grace;
    view.players_idle = players.idle;
    add(view.player_rtt_seconds, players.rtt_seconds);
    const GameTime shown = core.world().shown();
    view.clock = {shown.day, shown.hour, shown.minute, core.world().speed()};
    view.store_up = core.ledger().store_up();
    return view;
}

std::optional<std::uint32_t> add_players(const Core& core, std::uint32_t first, std::size_t count, PlayersView& view) {
    const auto next = core.players().visit_from(first, count, [&view](const PlayerView& player) {
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
        view.players.push_back(std::move(row));
    });
    return next == Sessions::none ? std::nullopt : std::optional(next);
}

void put_in_order(PlayersView& view) {
    const auto by_id = [](const PlayerRow& one, const PlayerRow& other) { return one.id < other.id; };
    std::sort(view.players.begin(), view.players.end(), by_id);
    // From the end: the last seen of each id comes first there, and stays.
    const auto kept = std::unique(view.players.rbegin(), view.players.rend(),
                                  [](const PlayerRow& one, const PlayerRow& other) { return one.id == other.id; });
    view.players.erase(view.players.begin(), kept.base());
}

}  // namespace muster
