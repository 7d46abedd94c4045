#include "http/row_json.h"

#include <cmath>
#include <limits>

namespace muster {

void moment_field(FieldSink& out, std::string_view name, UnixMs at) {
    if (at.value == 0) return null_field(out, name);
    out.integer(name, at.value);
}

double shown(float value) {
    return std::round(static_cast<double>(value) * 100) / 100;
}

std::string_view to_string(MatchState state) {
    switch (state) {
        case MatchState::offering:
            return "offering";
        case MatchState::allocated:
            return "allocated";
        case MatchState::ready:
            return "ready";
        case MatchState::started:
            return "started";
        case MatchState::ended:
            return "ended";
        case MatchState::aborted:
            return "aborted";
    }
    return "";
}

void null_field(FieldSink& out, std::string_view name) {
    out.real(name, std::numeric_limits<double>::quiet_NaN());
}

void describe(const ServerRow& row, FieldSink& out) {
    out.integer("id", row.id.value);
    out.text("ip", row.ip.to_string());
    out.integer("port", row.port);
    out.integer("region", row.region.value);
    out.text("status", to_string(row.status));
    out.integer("matches", row.load);
    out.integer("reported_matches", row.reported_matches);
    out.integer("held_matches", row.held);
    out.integer("offered_matches", row.offered);
    out.integer("max_matches", row.max_matches);
    out.real("cpu", shown(row.cpu_percent));
    out.real("memory", shown(row.memory_percent));
    out.flag("draining", row.drained_by_server || row.drained_by_operator);
    out.flag("drained_by_operator", row.drained_by_operator);
    if (row.drained_by_server || row.drained_by_operator) {
        out.begin_object("drain");
        out.text("who", row.drain.who);
        out.text("reason", row.drain.reason);
        moment_field(out, "at_ms", row.drain.at);
        out.end_object();
    } else {
        null_field(out, "drain");
    }
    out.flag("connected", row.connected);
    out.flag("braked", row.braked);
    out.integer("epoch", row.epoch);
    out.integer("last_heartbeat_ms_ago", row.last_heartbeat_ms_ago);
    out.real("rtt_ms", static_cast<double>(row.rtt_us) / 1000);
    out.real("jitter_ms", shown(row.jitter_ms));
    out.integer("choices", static_cast<std::int64_t>(row.choices));
    out.integer("registered_at_ms", row.registered_at.value);
}

void describe(const MatchRow& row, FieldSink& out) {
    out.integer("lobby_id", row.lobby.value);
    if (row.server.value == 0) {
        null_field(out, "server_id");
    } else {
        out.integer("server_id", row.server.value);
    }
    out.text("matchmaker", row.matchmaker);
    out.integer("region", row.region.value);
    out.text("state", to_string(row.state));
    out.text("reason", row.reason);
    out.integer("game_type", row.game_type);
    out.integer("game_mode", row.game_mode);
    out.integer("player_count", row.player_count);
    out.integer("average_rating", row.average_rating);
    out.integer("tokens_used", row.tokens_used);
    moment_field(out, "requested_at_ms", row.requested_at);
    moment_field(out, "allocated_at_ms", row.allocated_at);
    moment_field(out, "ready_at_ms", row.ready_at);
    moment_field(out, "started_at_ms", row.started_at);
    moment_field(out, "ended_at_ms", row.ended_at);
}

void describe(const MatchmakerRow& row, FieldSink& out) {
    out.text("id", row.id);
    out.begin_list("regions");
    for (const RegionId region : row.regions) out.integer({}, region.value);
    out.end_list();
    out.integer("last_seen_ms_ago", row.last_seen_ms_ago);
}

void describe(const PlayerRow& row, FieldSink& out) {
    out.integer("id", row.id.value);
    out.text("name", row.name);
    out.flag("connected", row.connected);
    out.flag("idle", row.idle);
    out.real("latency_ms", static_cast<double>(row.latency_us) / 1000);
    out.real("jitter_ms", static_cast<double>(row.jitter_us) / 1000);
    out.integer("connected_at_ms", row.connected_at.value);
    out.integer("last_message_ms_ago", row.last_message_ms_ago);
    if (row.last_ping_sent_ms_ago) {
        out.integer("last_ping_sent_ms_ago", *row.last_ping_sent_ms_ago);
    } else {
        null_field(out, "last_ping_sent_ms_ago");
    }
    out.integer("last_ping_received_ms_ago", row.last_ping_received_ms_ago);
    if (row.entity == 0) {
        null_field(out, "entity");
    } else {
        out.integer("entity", static_cast<std::int64_t>(row.entity));
    }
    out.integer("failed_heartbeats", row.failed_heartbeats);
}

namespace {

void number_field(FieldSink& out, std::string_view name, std::int64_t value) {
    if (value == 0) return null_field(out, name);
    out.integer(name, value);
}

void describe_exit(const ProcessRow& row, bool with_output, FieldSink& out) {
    if (row.exit_at.value == 0) return null_field(out, "last_exit");
    out.begin_object("last_exit");
    if (row.exit_code) out.integer("code", *row.exit_code);
    if (!row.exit_code) null_field(out, "code");
    if (row.exit_signal) out.integer("signal", *row.exit_signal);
    if (!row.exit_signal) null_field(out, "signal");
    out.integer("at_ms", row.exit_at.value);
    out.text("reason", row.exit_reason);
    if (with_output) out.text("last_lines", row.last_lines);
    if (!with_output) null_field(out, "last_lines");
    out.end_object();
}

}  // namespace

void describe(const HostRow& row, bool with_output, FieldSink& out) {
    out.text("name", row.name);
    out.text("address", row.address);
    out.integer("region", row.region.value);
    out.flag("connected", row.connected);
    out.flag("draining", row.draining);
    out.text("version", row.version);
    out.real("cpu", shown(row.cpu_percent));
    out.real("memory", shown(row.memory_percent));
    moment_field(out, "joined_at_ms", row.joined_at);
    moment_field(out, "lost_at_ms", row.lost_at);
    out.begin_list("processes");
    for (const ProcessRow& process : row.processes) {
        out.begin_object({});
        out.text("name", process.name);
        out.text("run", process.run);
        out.text("state", to_string(process.state));
        number_field(out, "pid", process.pid);
        number_field(out, "port", process.port);
        number_field(out, "server_id", process.server.value);
        moment_field(out, "started_at_ms", process.started_at);
        out.integer("restarts", process.restarts);
        describe_exit(process, with_output, out);
        out.end_object();
    }
    out.end_list();
}

void describe(const ClockRow& row, FieldSink& out) {
    out.integer("day", row.day);
    out.integer("hour", row.hour);
    out.integer("minute", row.minute);
    out.integer("speed", row.speed);
}

}  // namespace muster
