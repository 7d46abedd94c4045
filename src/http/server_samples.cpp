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
    if (history.latest.times != 0 && history.latest.sample != sample) {
        if (!history.earlier) history.earlier = std::make_unique<std::vector<Run>>();
        history.earlier->push_back(history.latest);
        history.latest.times = 0;
    }
    history.latest.sample = sample;
    ++history.latest.times;
    if (moments(history) <= kept) return;
    if (!history.earlier) {
        --history.latest.times;
        return;
    }
    auto& earlier = *history.earlier;
    if (--earlier.front().times == 0) earlier.erase(earlier.begin());
    if (earlier.empty()) history.earlier.reset();
}

std::size_t ServerSamples::moments(const History& history) {
    std::size_t all = history.latest.times;
    if (history.earlier)
        for (const Run& run : *history.earlier) all += run.times;
    return all;
}

void ServerSamples::add(const FleetView& view) {
    const std::uint32_t now = ++samplings_;
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
        const History& history = found->second;
        std::size_t moment = samplings_ + 1 - moments(history);
        const auto describe_run = [&](const Run& run) {
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
        };
        if (history.earlier)
            for (const Run& run : *history.earlier) describe_run(run);
        describe_run(history.latest);
    }
    out.end_list();
}

}  // namespace muster
