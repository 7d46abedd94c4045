#include "agent/adoption.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "agent/agent_config.h"

namespace muster {
namespace {

// A clock that was set meanwhile makes no pause longer than the longest.
Time starts_at(const ProcessRecord& record, Moment at) {
    constexpr auto longest = std::chrono::duration_cast<std::chrono::milliseconds>(RestartPace::crash_loop_pause);
    if (!record.starts_at || record.starts_at->value <= at.wall.value) return at.now;
    return at.now + std::min(std::chrono::milliseconds(record.starts_at->value - at.wall.value), longest);
}

}  // namespace

Census take_census(std::vector<ProcessRecord> records, const std::vector<SeenProcess>& running, std::string_view boot) {
    Census census;
    std::set<std::string> owned;
    std::map<std::int32_t, const SeenProcess*> by_pid;
    for (const SeenProcess& each : running) by_pid[each.pid] = &each;
    for (ProcessRecord& record : records) {
        if (record.pid == 0) {
            owned.insert(record.life);
            census.resting.push_back(std::move(record));
            continue;
        }
        if (record.boot != boot) {
            census.rebooted.push_back(std::move(record));
            continue;
        }
        owned.insert(record.life);
        const auto seen = by_pid.find(record.pid);
        const bool runs = seen != by_pid.end() && seen->second->start_ticks == record.start_ticks &&
                          seen->second->life == record.life;
        (runs ? census.survivors : census.ended).push_back(std::move(record));
    }
    for (const SeenProcess& each : running)
        if (!each.life.empty() && owned.insert(each.life).second) census.unowned.push_back(each);
    return census;
}

std::optional<ProcessRecord> record_of_unowned(const SeenProcess& seen, const std::vector<RunConfig>& runs) {
    const std::size_t dash = seen.name.rfind('-');
    if (dash == std::string::npos || dash == 0 || !is_plain_name(seen.name) || seen.port == 0) return std::nullopt;
    ProcessRecord record{.name = seen.name,
                         .run = seen.name.substr(0, dash),
                         .fingerprint = {},
                         .pid = seen.pid,
                         .start_ticks = seen.start_ticks,
                         .boot = {},
                         .life = seen.life,
                         .port = seen.port,
                         .was_ready = true,  // perhaps: then Muster keeps a server for it, and its match
                         .sdk_state = {},
                         .cgroup = {}};
    for (const RunConfig& run : runs)
        if (run.name == record.run) record.sdk = run.sdk;
    return record;
}

Adopted adopted_from(const ProcessRecord& record, const std::vector<RunConfig>& runs, Moment at) {
    const auto run =
        std::find_if(runs.begin(), runs.end(), [&record](const RunConfig& each) { return each.name == record.run; });
    RunConfig config = run == runs.end() ? RunConfig{} : *run;
    // Its own settings may not be known any more. The fingerprint tells whether they differ, now and after a reload.
    config.name = record.run;
    config.sdk = record.sdk;
    return {.name = record.name,
            .run = record.run,
            .config = std::make_shared<const RunConfig>(std::move(config)),
            .fingerprint = record.fingerprint,
            .pid = record.pid,
            .port = record.port,
            .life = record.life,
            .started_at = record.started_at,
            .ran = std::chrono::milliseconds(std::max<std::int64_t>(0, at.wall.value - record.started_at.value)),
            .restarts = record.restarts,
            .pace = RestartPace::of(record.pace, at),
            .starts_at = starts_at(record, at),
            .last_exit = record.last_exit,
            .was_ready = record.was_ready,
            .match = record.match};
}

}  // namespace muster
