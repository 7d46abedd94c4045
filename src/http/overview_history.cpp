#include "http/overview_history.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_fields.h"
#include "http/overview.h"

namespace muster {
namespace {

void describe_counts(std::string_view name, const Distribution& seconds, FieldSink& out) {
    out.begin_list(name);
    for (const std::uint64_t count : seconds.counts) out.integer({}, static_cast<std::int64_t>(count));
    out.end_list();
}

void describe_bounds(std::string_view name, const Distribution& seconds, FieldSink& out) {
    out.begin_list(name);
    for (const double bound : seconds.bounds) out.real({}, bound * 1000);
    out.end_list();
}

}  // namespace

void OverviewHistory::add(const FleetView& view, const ProcessFigures& process) {
    JsonFields buckets;
    describe_bounds("allocation_buckets_ms", view.allocation_seconds, buckets);
    describe_bounds("player_buckets_ms", view.player_rtt_seconds, buckets);
    buckets_ = buckets.finish();

    JsonFields out;
    out.integer("time_ms", view.time.value);
    out.integer("uptime_s", static_cast<std::int64_t>(process.uptime_s));
    const AllocationFigures figures = allocation_figures(view);
    out.integer("requests", static_cast<std::int64_t>(figures.requests));
    out.integer("successes", static_cast<std::int64_t>(figures.successes));
    out.integer("retries", static_cast<std::int64_t>(figures.retries));
    out.begin_object("failures");
    for (const auto& [reason, count] : view.failures) out.integer(reason, static_cast<std::int64_t>(count));
    out.end_object();
    describe_counts("allocation_counts", view.allocation_seconds, out);
    describe_counts("player_counts", view.player_rtt_seconds, out);
    std::int64_t load = 0;
    std::int64_t capacity = 0;
    for (const ServerRow& row : view.servers) {
        if (row.status == ServerStatus::offline) continue;
        load += row.load;
        capacity += row.max_matches;
    }
    out.integer("load", load);
    out.integer("capacity", capacity);
    out.integer("players", static_cast<std::int64_t>(view.players_connected));
    out.integer("idle", static_cast<std::int64_t>(view.players_idle));
    out.real("tick_avg_ms", process.tick_avg_ms);
    out.real("tick_max_ms", process.tick_max_ms);
    out.begin_list("regions");
    for (const RegionRow& region : view.regions) {
        out.begin_object({});
        out.integer("id", region.id.value);
        out.integer("requests", static_cast<std::int64_t>(region.requests));
        out.integer("failures", failures_of(region));
        out.end_object();
    }
    out.end_list();
    samples_.push_back(out.finish());
    if (samples_.size() > kept) samples_.pop_front();
}

std::string OverviewHistory::json() const {
    constexpr auto every_ms = std::chrono::milliseconds(every).count();
    const std::string buckets = buckets_.empty() ? R"("allocation_buckets_ms":[],"player_buckets_ms":[])"
                                                 : buckets_.substr(1, buckets_.size() - 2);
    return fmt::format("{{\"every_ms\":{},{},\"samples\":[{}]}}\n", every_ms, buckets, fmt::join(samples_, ","));
}

}  // namespace muster
