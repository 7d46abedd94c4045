#include "http/server_samples.h"

#include <algorithm>
#include <cmath>

#include "http/row_json.h"

namespace muster {
namespace {

constexpr float percent_steps = 2.5F;  // a percentage fits a byte

std::uint8_t packed(float percent) {
    return static_cast<std::uint8_t>(std::lround(std::clamp(percent, 0.0F, 100.0F) * percent_steps));
}

float percent_of(std::uint8_t packed) {
    return static_cast<float>(packed) / percent_steps;
}

}  // namespace

ServerSamples::Sample ServerSamples::sample_of(const ServerRow& row) {
    // A server may report any number of matches, whatever its capacity.
    const auto load = static_cast<std::int16_t>(std::clamp(row.load, 0, INT16_MAX));
    const auto rtt = static_cast<std::uint16_t>(std::min<std::uint32_t>(row.rtt_us / 10, UINT16_MAX));
    return {load, packed(row.cpu_percent), packed(row.memory_percent), rtt};
}

void ServerSamples::append(History& history, const Sample& sample) {
    auto& runs = history.runs;
    if (!runs.empty() && runs.back().sample == sample) {
        ++runs.back().times;
    } else {
        runs.push_back({sample, 1});
    }
    std::size_t all = 0;
    for (const Run& run : runs) all += run.times;
    if (all > kept && --runs.front().times == 0) runs.erase(runs.begin());
}

void ServerSamples::add(const FleetView& view) {
    const std::uint64_t now = ++samplings_;
    times_[now % kept] = view.time;
    for (const ServerRow& row : view.servers) {
        History& history = histories_[row.id];
        history.last = now;
        append(history, sample_of(row));
    }
    for (auto& [server, history] : histories_)
        if (history.last != now) append(history, Sample{});
    erase_if(histories_, [now](const auto& entry) { return entry.second.last + kept <= now; });
}

void ServerSamples::describe(ServerId server, FieldSink& out) const {
    out.begin_list("history");
    if (const auto found = histories_.find(server); found != histories_.end()) {
        std::uint64_t moment = samplings_ + 1;
        for (const Run& run : found->second.runs) moment -= run.times;
        for (const Run& run : found->second.runs) {
            for (std::uint16_t i = 0; i < run.times; ++i, ++moment) {
                if (run.sample.load < 0) continue;
                out.begin_object({});
                out.integer("time_ms", times_[moment % kept].value);
                out.integer("matches", run.sample.load);
                out.real("cpu", shown(percent_of(run.sample.cpu)));
                out.real("memory", shown(percent_of(run.sample.memory)));
                out.real("rtt_ms", static_cast<double>(run.sample.rtt_10us) / 100);
                out.end_object();
            }
        }
    }
    out.end_list();
}

}  // namespace muster
