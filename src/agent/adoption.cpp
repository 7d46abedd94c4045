#include "agent/adoption.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

namespace muster {

Census take_census(std::vector<ProcessRecord> records, const std::vector<SeenProcess>& running, std::string_view boot) {
    Census census;
    std::set<std::string> owned;
    for (ProcessRecord& record : records) {
        if (record.boot != boot) {
            census.rebooted.push_back(std::move(record));
            continue;
        }
        owned.insert(record.life);
        const bool runs = std::any_of(running.begin(), running.end(), [&record](const SeenProcess& each) {
            return each.pid == record.pid && each.start_ticks == record.start_ticks && each.life == record.life;
        });
        (runs ? census.survivors : census.ended).push_back(std::move(record));
    }
    for (const SeenProcess& each : running)
        if (!each.life.empty() && owned.insert(each.life).second) census.unowned.push_back(each);
    return census;
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
            .last_exit = record.last_exit,
            .was_ready = record.was_ready,
            .match = record.match};
}

}  // namespace muster
