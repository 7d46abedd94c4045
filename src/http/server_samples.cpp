#include "http/server_samples.h"

#include <algorithm>

#include "http/row_json.h"

namespace muster {

void ServerSamples::add(const FleetView& view) {
    const std::uint64_t now = ++samplings_;
    const std::size_t place = now % kept;
    times_[place] = view.time;
    for (const ServerRow& row : view.servers) {
        Ring& ring = rings_[row.id];
        ring.last = now;
        ring.samples[place] = {row.load, row.cpu_percent, row.memory_percent, row.rtt_us};
    }
    for (auto& [server, ring] : rings_)
        if (ring.last != now) ring.samples[place] = Sample{};
    std::erase_if(rings_, [now](const auto& entry) { return entry.second.last + kept <= now; });
}

void ServerSamples::describe(ServerId server, FieldSink& out) const {
    out.begin_list("history");
    if (const auto found = rings_.find(server); found != rings_.end()) {
        const std::uint64_t first = samplings_ >= kept ? samplings_ - kept + 1 : 1;
        for (std::uint64_t i = first; i <= samplings_; ++i) {
            const Sample& sample = found->second.samples[i % kept];
            if (sample.load < 0) continue;
            out.begin_object({});
            out.integer("time_ms", times_[i % kept].value);
            out.integer("matches", sample.load);
            out.real("cpu", shown(sample.cpu_percent));
            out.real("memory", shown(sample.memory_percent));
            out.real("rtt_ms", static_cast<double>(sample.rtt_us) / 1000);
            out.end_object();
        }
    }
    out.end_list();
}

}  // namespace muster
