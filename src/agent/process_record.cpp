#include "agent/process_record.h"

#include <chrono>
#include <limits>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "agent/agent_config.h"
#include "base/json_fields.h"

namespace muster {
namespace {

namespace json = boost::json;

constexpr std::int64_t record_version = 1;
constexpr std::int64_t ran_ms_most = std::int64_t{100} * 365 * 24 * 3600 * 1000;  // a century

// Whole numbers in the range of Number only; texts as they are. False when it is not there or does not fit.
template <class Number>
bool take(const json::object& from, std::string_view name, Number& out) {
    const json::value* value = from.if_contains(name);
    if (!value || !value->is_int64()) return false;
    const std::int64_t number = value->get_int64();
    if (number < static_cast<std::int64_t>(std::numeric_limits<Number>::min())) return false;
    if constexpr (sizeof(Number) < sizeof(std::int64_t)) {
        if (number > static_cast<std::int64_t>(std::numeric_limits<Number>::max())) return false;
    }
    out = static_cast<Number>(number);
    return true;
}
bool take(const json::object& from, std::string_view name, std::string& out) {
    const json::value* value = from.if_contains(name);
    if (!value || !value->is_string()) return false;
    out = std::string(value->get_string());
    return true;
}
bool take(const json::object& from, std::string_view name, bool& out) {
    const json::value* value = from.if_contains(name);
    if (!value || !value->is_bool()) return false;
    out = value->get_bool();
    return true;
}

bool take_match(const json::object& from, MatchHeld& held) {
    std::int32_t lobby = 0;
    std::int32_t stage = 0;
    const bool whole = take(from, "lobby", lobby) && take(from, "game_type", held.match.game_type) &&
                       take(from, "game_mode", held.match.game_mode) && take(from, "token", held.match.token) &&
                       take(from, "stage", stage);
    if (!whole || stage < 0 || stage > static_cast<std::int32_t>(MatchHeld::Stage::started)) return false;
    held.match.lobby = LobbyId(lobby);
    held.stage = static_cast<MatchHeld::Stage>(stage);
    return true;
}

bool take_exit(const json::object& from, ProcessExit& last) {
    std::int64_t ran_ms = 0;
    const bool ran_known = from.contains("ran_ms");
    const bool whole = take(from, "at_ms", last.at.value) && (!ran_known || take(from, "ran_ms", ran_ms)) &&
                       ran_ms >= 0 && ran_ms < ran_ms_most && take(from, "reason", last.reason);
    if (ran_known) last.ran = std::chrono::milliseconds(ran_ms);
    int number = 0;
    if (take(from, "code", number)) last.status.code = number;
    if (take(from, "signal", number)) last.status.signal = number;
    return whole;
}

bool take_pace(const json::object& from, PaceRecord& pace) {
    std::int64_t next_ms = 0;
    const json::value* failures = from.if_contains("failures_at_ms");
    const bool whole = take(from, "next_ms", next_ms) && next_ms >= 0 && next_ms < ran_ms_most &&
                       take(from, "crash_loop", pace.crash_loop) && failures && failures->is_array();
    if (!whole) return false;
    pace.next = std::chrono::milliseconds(next_ms);
    for (const json::value& each : failures->get_array()) {
        if (!each.is_int64() || each.get_int64() < 0) return false;
        pace.failures.push_back(UnixMs{each.get_int64()});
    }
    return true;
}

std::int64_t whole_ms(Duration length) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(length).count();
}

// FNV-1a: no secret, only a name for one text among few.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
}

}  // namespace

ProcessRecord record_of(const Process& process, Moment at) {
    ProcessRecord record{.name = process.name,
                         .run = process.run->name,
                         .fingerprint = process.fingerprint,
                         .sdk = process.run->sdk,
                         .pid = process.pid.value_or(0),
                         .boot = {},
                         .life = process.life,
                         .port = process.port,
                         .started_at = process.started_at,
                         .restarts = process.restarts,
                         .pace = process.pace.record(at),
                         .last_exit = process.last_exit,
                         .was_ready = process.was_ready,
                         .match = process.match,
                         .sdk_state = {},
                         .cgroup = {}};
    if (process.rests()) record.starts_at = UnixMs{at.wall.value + whole_ms(process.start_at - at.now)};
    return record;
}

std::string to_json(const ProcessRecord& record) {
    JsonFields out;
    out.integer("version", record_version);
    out.text("name", record.name);
    out.text("run", record.run);
    out.text("fingerprint", record.fingerprint);
    out.text("sdk", to_string(record.sdk));
    out.integer("pid", record.pid);
    out.integer("start_ticks", static_cast<std::int64_t>(record.start_ticks));
    out.text("boot", record.boot);
    out.text("life", record.life);
    out.integer("port", record.port);
    out.integer("started_at_ms", record.started_at.value);
    out.integer("restarts", record.restarts);
    if (record.starts_at) out.integer("starts_at_ms", record.starts_at->value);
    out.begin_object("pace");
    out.integer("next_ms", whole_ms(record.pace.next));
    out.flag("crash_loop", record.pace.crash_loop);
    out.begin_list("failures_at_ms");
    for (const UnixMs each : record.pace.failures) out.integer({}, each.value);
    out.end_list();
    out.end_object();
    out.flag("was_ready", record.was_ready);
    if (record.last_exit) {
        const ProcessExit& last = *record.last_exit;
        out.begin_object("last_exit");
        if (last.status.code) out.integer("code", *last.status.code);
        if (last.status.signal) out.integer("signal", *last.status.signal);
        out.integer("at_ms", last.at.value);
        if (last.ran) out.integer("ran_ms", whole_ms(*last.ran));
        out.text("reason", last.reason);
        out.end_object();
    }
    if (record.match) {
        out.begin_object("match");
        out.integer("lobby", record.match->match.lobby.value);
        out.integer("game_type", record.match->match.game_type);
        out.integer("game_mode", record.match->match.game_mode);
        out.text("token", record.match->match.token);
        out.integer("stage", static_cast<std::int64_t>(record.match->stage));
        out.end_object();
    }
    out.text("sdk_state", record.sdk_state);
    out.text("cgroup", record.cgroup);
    out.integer("log_from", record.log_from);
    if (!record.folder.empty()) out.text("folder", record.folder);
    return out.finish();
}

std::optional<ProcessRecord> parse_process_record(std::string_view text) {
    boost::system::error_code error;
    const json::value value = json::parse(json::string_view(text.data(), text.size()), error);
    if (error || !value.is_object()) return std::nullopt;
    const json::object& from = value.get_object();
    ProcessRecord record;
    std::int64_t version = 0;
    std::string sdk;
    std::int64_t start_ticks = 0;
    const bool whole =
        take(from, "version", version) && version == record_version && take(from, "name", record.name) &&
        take(from, "run", record.run) && take(from, "fingerprint", record.fingerprint) && take(from, "sdk", sdk) &&
        take(from, "pid", record.pid) && take(from, "start_ticks", start_ticks) && take(from, "boot", record.boot) &&
        take(from, "life", record.life) && take(from, "port", record.port) &&
        take(from, "started_at_ms", record.started_at.value) && take(from, "restarts", record.restarts) &&
        take(from, "was_ready", record.was_ready) && take(from, "sdk_state", record.sdk_state) &&
        take(from, "cgroup", record.cgroup) && take(from, "log_from", record.log_from);
    const auto kind = sdk_kind_named(sdk);
    if (!whole || !kind || record.life.empty()) return std::nullopt;
    if (std::int64_t ms = 0; take(from, "starts_at_ms", ms) && ms >= 0) record.starts_at = UnixMs{ms};
    // It runs, or it waits for its next start.
    const bool runs = record.pid > 1 && record.port != 0 && !record.starts_at;
    if (!runs && (record.pid != 0 || !record.starts_at)) return std::nullopt;
    const json::value* pace = from.if_contains("pace");
    if (!pace || !pace->is_object() || !take_pace(pace->get_object(), record.pace)) return std::nullopt;
    if (from.if_contains("folder") && !take(from, "folder", record.folder)) return std::nullopt;
    record.sdk = *kind;
    record.start_ticks = static_cast<std::uint64_t>(start_ticks);
    if (const json::value* match = from.if_contains("match")) {
        MatchHeld held;
        if (!match->is_object() || !take_match(match->get_object(), held)) return std::nullopt;
        record.match = held;
    }
    if (const json::value* last = from.if_contains("last_exit")) {
        ProcessExit exit;
        if (!last->is_object() || !take_exit(last->get_object(), exit)) return std::nullopt;
        record.last_exit = exit;
    }
    return record;
}

std::string fingerprint(const RunConfig& run) {
    JsonFields out;
    out.begin_list("command");
    for (const std::string& word : run.command) out.text({}, word);
    out.end_list();
    const auto entries = [&out](std::string_view name, const std::vector<EnvironmentEntry>& all) {
        out.begin_object(name);
        for (const EnvironmentEntry& each : all) out.text(each.name, each.value);
        out.end_object();
    };
    entries("env", run.env);
    entries("labels", run.labels);
    out.text("directory", run.directory);
    out.text("sdk", to_string(run.sdk));
    out.real("cpu", run.cpu);
    for (const std::int64_t each :
         {std::int64_t{run.slots}, run.memory.bytes, run.start_timeout.count(), std::int64_t{run.stop_signal},
          run.stop_grace.count(), run.stop_grace_allocated.count(), run.ready_after.value_or(Duration(-1)).count(),
          run.log_size.bytes, std::int64_t{run.log_files}, run.health_period.count(), std::int64_t{run.health_failures},
          run.health_delay.count(), std::int64_t{run.player_tracking}, std::int64_t{run.ignore_health}})
        out.integer("n", each);
    for (const CounterConfig& each : run.counters) {
        out.text("counter", each.name);
        out.integer("count", each.count);
        out.integer("capacity", each.capacity);
    }
    for (const ListConfig& each : run.lists) {
        out.text("list", each.name);
        out.integer("capacity", each.capacity);
        for (const std::string& value : each.values) out.text("value", value);
    }
    return fmt::format("{:016x}", hash_of(out.finish()));
}

std::string match_file_text(const SdkMatch& match) {
    JsonFields out;
    out.integer("lobby", match.lobby.value);
    out.text("token", match.token);
    out.integer("game_type", match.game_type);
    out.integer("game_mode", match.game_mode);
    return out.finish() + "\n";
}

}  // namespace muster
