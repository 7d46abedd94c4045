#include "http/overview.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_fields.h"
#include "base/quantile.h"
#include "http/row_json.h"

namespace muster {
namespace {

// A region that uses more than this of its room is near its end.
constexpr double load_share_high = 0.9;
// So many servers of a region, and more than this share of them, are lost only when something is wrong.
constexpr std::int64_t lost_least = 2;
constexpr double lost_share = 0.15;
// The same of matches that were aborted.
constexpr std::uint64_t aborts_least = 20;
constexpr double aborts_share = 0.05;

struct RegionSums {
    std::array<std::int64_t, 4> servers{};  // by ServerStatus
    std::int64_t capacity = 0;              // of those not offline, as all that follows
    std::int64_t load = 0;
    double cpu = 0;
    double memory = 0;
    bool brake = false;

    std::int64_t of(ServerStatus status) const { return servers[static_cast<std::size_t>(status)]; }
    std::int64_t online() const {
        return of(ServerStatus::available) + of(ServerStatus::full) + of(ServerStatus::draining);
    }
};

std::map<RegionId, RegionSums> sums_of(const FleetView& view) {
    std::map<RegionId, RegionSums> sums;
    for (const RegionRow& region : view.regions) sums[region.id];
    for (const ServerRow& row : view.servers) {
        RegionSums& sum = sums[row.region];
        ++sum.servers[static_cast<std::size_t>(row.status)];
        sum.brake = sum.brake || row.braked;
        if (row.status == ServerStatus::offline) continue;
        sum.capacity += row.max_matches;
        sum.load += row.load;
        sum.cpu += static_cast<double>(row.cpu_percent);
        sum.memory += static_cast<double>(row.memory_percent);
    }
    return sums;
}

// All since the start, so that the difference of two answers is of the time between them.
void describe_latency(const Distribution& seconds, FieldSink& out) {
    out.begin_object("latency_ms");
    out.begin_list("buckets_ms");
    for (const double bound : seconds.bounds) out.real({}, bound * 1000);
    out.end_list();
    out.begin_list("counts");
    for (const std::uint64_t count : seconds.counts) out.integer({}, static_cast<std::int64_t>(count));
    out.end_list();
    out.end_object();
}

void describe_allocations(const FleetView& view, FieldSink& out) {
    const AllocationFigures figures = allocation_figures(view);
    const Distribution& seconds = view.allocation_seconds;
    const auto percentile_ms = [&](double share) { return quantile(seconds.bounds, seconds.counts, share) * 1000; };
    out.begin_object("allocations");
    out.integer("requests", static_cast<std::int64_t>(figures.requests));
    out.integer("successes", static_cast<std::int64_t>(figures.successes));
    out.begin_object("failures");
    for (const auto& [reason, count] : view.failures) out.integer(reason, static_cast<std::int64_t>(count));
    out.end_object();
    out.integer("retries", static_cast<std::int64_t>(figures.retries));
    out.integer("in_flight", static_cast<std::int64_t>(view.allocations_in_flight));
    out.real("p50_ms", percentile_ms(0.50));
    out.real("p95_ms", percentile_ms(0.95));
    out.real("p99_ms", percentile_ms(0.99));
    describe_latency(seconds, out);
    out.end_object();
}

void describe_matches(const FleetView& view, FieldSink& out) {
    std::array<std::int64_t, 4> counts{};
    for (const MatchRow& row : view.matches) {
        const auto state = static_cast<std::size_t>(row.state);
        if (state < counts.size()) ++counts[state];
    }
    out.begin_object("matches");
    for (const MatchState state :
         {MatchState::offering, MatchState::allocated, MatchState::ready, MatchState::started}) {
        out.integer(to_string(state), counts[static_cast<std::size_t>(state)]);
    }
    out.end_object();
}

void describe_players(const FleetView& view, FieldSink& out) {
    out.begin_object("players");
    out.integer("connected", static_cast<std::int64_t>(view.players_connected));
    out.integer("in_grace", static_cast<std::int64_t>(view.players_in_grace));
    out.integer("idle", static_cast<std::int64_t>(view.players_idle));
    describe_latency(view.player_rtt_seconds, out);
    out.end_object();
}

void describe_loop(const ProcessFigures& process, FieldSink& out) {
    out.begin_object("loop");
    out.real("ticks_per_second", process.ticks_per_second);
    out.real("tick_avg_ms", process.tick_avg_ms);
    out.real("tick_max_ms", process.tick_max_ms);
    out.real("messages_per_second", process.messages_per_second);
    out.integer("overruns", static_cast<std::int64_t>(process.overruns));
    out.integer("callback_errors", static_cast<std::int64_t>(process.callback_errors));
    out.end_object();
}

// What holds of several regions is one reason with all their names, not a line for each.
struct SharedReason {
    std::vector<std::string_view> regions;
    std::int64_t part = 0;  // summed over the regions, as is the next
    std::int64_t whole = 0;

    void add(std::string_view region, std::int64_t its_part = 0, std::int64_t its_whole = 0) {
        regions.push_back(region);
        part += its_part;
        whole += its_whole;
    }
    bool of_one() const { return regions.size() == 1; }
    std::string names() const {
        constexpr std::size_t named_max = 12;
        if (regions.size() <= named_max) return fmt::format("{}", fmt::join(regions, ", "));
        return fmt::format("{} and {} more", fmt::join(regions.begin(), regions.begin() + named_max, ", "),
                           regions.size() - named_max);
    }
};

struct RegionReasons {
    SharedReason all_offline;
    SharedReason has_none;  // whole: had
    SharedReason has_few;   // part: has, whole: had
    SharedReason lost;      // part of whole
    SharedReason brake;
    SharedReason no_room;
    SharedReason almost_full;  // part of whole, in matches
};

// A region that lost most of its servers is bad, one that lost a good part of them worth a warning: for as long as the
// losses are remembered, whatever is left in the registry.
void judge_losses(const RegionRow& region, const RegionSums& sum, RegionReasons& reasons) {
    const std::int64_t offline = sum.of(ServerStatus::offline);
    const auto lost = static_cast<std::int64_t>(region.lost);
    const std::int64_t has = sum.online();
    const std::int64_t had = has + offline + lost;
    if (has == 0 && lost == 0 && offline > 0) {
        reasons.all_offline.add(region.name);
    } else if (has == 0 && had > 0) {
        reasons.has_none.add(region.name, 0, had);
    } else if (offline + lost > has) {
        reasons.has_few.add(region.name, has, had);
    } else if (lost >= lost_least && static_cast<double>(lost) > lost_share * static_cast<double>(had)) {
        reasons.lost.add(region.name, lost, had);
    }
}

RegionReasons reasons_of(const FleetView& view) {
    RegionReasons reasons;
    const auto sums = sums_of(view);
    for (const RegionRow& region : view.regions) {
        const RegionSums& sum = sums.at(region.id);
        judge_losses(region, sum, reasons);
        if (sum.brake) reasons.brake.add(region.name);
        if (sum.online() > 0 && sum.of(ServerStatus::available) == 0) {
            reasons.no_room.add(region.name);
        } else if (static_cast<double>(sum.load) > load_share_high * static_cast<double>(sum.capacity)) {
            reasons.almost_full.add(region.name, sum.load, sum.capacity);
        }
    }
    return reasons;
}

template <class Say>
void tell(const RegionReasons& reasons, Say say) {
    const auto tell_if = [&say](const SharedReason& reason, std::string_view status, auto text) {
        if (!reason.regions.empty()) say(status, text(reason));
    };
    tell_if(reasons.all_offline, "bad",
            [](const SharedReason& of) { return fmt::format("All servers of {} are offline", of.names()); });
    tell_if(reasons.has_none, "bad", [](const SharedReason& of) {
        return fmt::format("{} had {} server{}, {} none", of.names(), of.whole, of.whole == 1 ? "" : "s",
                           of.of_one() ? "has" : "have");
    });
    tell_if(reasons.has_few, "bad", [](const SharedReason& of) {
        return fmt::format("{} had {} server{}, {} {}", of.names(), of.whole, of.whole == 1 ? "" : "s",
                           of.of_one() ? "has" : "have", of.part);
    });
    tell_if(reasons.lost, "warn", [](const SharedReason& of) {
        return fmt::format("{} lost {} of {} servers in the last 15 minutes", of.names(), of.part, of.whole);
    });
    tell_if(reasons.brake, "warn", [](const SharedReason& of) {
        return fmt::format("Eviction brake on in {}: many servers silent; removals suspended", of.names());
    });
    tell_if(reasons.no_room, "warn",
            [](const SharedReason& of) { return fmt::format("No server of {} can take a match", of.names()); });
    tell_if(reasons.almost_full, "warn", [](const SharedReason& of) {
        return fmt::format("{} {} almost full: {} of {} matches", of.names(), of.of_one() ? "is" : "are", of.part,
                           of.whole);
    });
}

}  // namespace

AllocationFigures allocation_figures(const FleetView& view) {
    AllocationFigures figures;
    for (const RegionRow& region : view.regions) {
        figures.requests += region.requests;
        figures.successes += region.successes;
        figures.retries += region.retries;
    }
    return figures;
}

std::int64_t failures_of(const RegionRow& region) {
    std::uint64_t sum = 0;
    for (const auto& [name, count] : region.failures) sum += count;
    return static_cast<std::int64_t>(sum);
}

HealthVerdict verdict_of(const FleetView& view, const ProcessFigures& process, const RecentFailures& recent) {
    HealthVerdict verdict;
    const auto say = [&verdict](std::string_view status, std::string reason) {
        if (verdict.status != "bad") verdict.status = status;
        verdict.reasons.push_back(std::move(reason));
    };
    for (const std::string& problem : process.problems) say("bad", problem);
    if (!view.store_up && process.problems.empty()) say("bad", "The store does not take records");
    for (const std::string& warning : process.warnings) say("warn", warning);
    tell(reasons_of(view), say);
    const auto aborts = static_cast<double>(view.aborts);
    if (view.aborts >= aborts_least && aborts > aborts_share * (aborts + static_cast<double>(view.matches.size()))) {
        say("warn", fmt::format("{} matches were aborted in the last 15 minutes, most with \"{}\"", view.aborts,
                                view.abort_reason));
    }
    for (const RefusedRow& refused : view.refused) {
        say("warn",
            fmt::format("{} registrations of {} refused in the last minutes, most with \"{}\", the last from {}",
                        refused.count, refused.port == Port::servers ? "game servers" : "matchmakers", refused.reason,
                        refused.last));
    }
    for (const HostTroubles::Lost& lost : view.hosts.lost) {
        say("warn", fmt::format("Host {} is lost: {} server{}, {} match{}", lost.name, lost.servers,
                                lost.servers == 1 ? "" : "s", lost.matches, lost.matches == 1 ? "" : "es"));
    }
    if (view.hosts.crash_loops == 1) say("warn", fmt::format("Crash loop: {}", view.hosts.crash_loop_example));
    if (view.hosts.crash_loops > 1) {
        say("warn", fmt::format("Crash loop: {} and {} more processes", view.hosts.crash_loop_example,
                                view.hosts.crash_loops - 1));
    }
    if (auto complaint = recent.complaint(view)) say("warn", std::move(*complaint));
    return verdict;
}

void describe_regions(const FleetView& view, FieldSink& out) {
    const auto sums = sums_of(view);
    out.begin_list("regions");
    for (const RegionRow& region : view.regions) {
        const RegionSums& sum = sums.at(region.id);
        const auto online = static_cast<double>(std::max<std::int64_t>(sum.online(), 1));
        out.begin_object({});
        out.integer("id", region.id.value);
        out.text("name", region.name);
        out.begin_object("servers");
        for (const ServerStatus status :
             {ServerStatus::available, ServerStatus::full, ServerStatus::draining, ServerStatus::offline}) {
            out.integer(to_string(status), sum.of(status));
        }
        out.end_object();
        out.integer("capacity", sum.capacity);
        out.integer("load", sum.load);
        out.real("cpu_percent", sum.cpu / online);
        out.real("memory_percent", sum.memory / online);
        out.integer("requests", static_cast<std::int64_t>(region.requests));
        out.integer("failures", failures_of(region));
        out.integer("retries", static_cast<std::int64_t>(region.retries));
        out.integer("lost", static_cast<std::int64_t>(region.lost));
        out.flag("brake", sum.brake);
        out.end_object();
    }
    out.end_list();
}

std::string overview_json(const FleetView& view, const ProcessFigures& process, const RecentFailures& recent) {
    JsonFields out;
    out.integer("time_ms", view.time.value);
    out.text("version", process.version);
    if (!process.node.empty()) out.text("node", process.node);
    out.integer("uptime_s", static_cast<std::int64_t>(process.uptime_s));
    const HealthVerdict verdict = verdict_of(view, process, recent);
    out.begin_object("health");
    out.text("status", verdict.status);
    out.begin_list("reasons");
    for (const std::string& reason : verdict.reasons) out.text({}, reason);
    out.end_list();
    out.end_object();
    describe_regions(view, out);
    out.flag("had_servers", view.had_servers);
    describe_allocations(view, out);
    describe_matches(view, out);
    describe_players(view, out);
    out.begin_object("clock");
    describe(view.clock, out);
    out.end_object();
    describe_loop(process, out);
    out.begin_object("store");
    out.flag("up", view.store_up);
    out.integer("queue_depth", static_cast<std::int64_t>(process.store_queue_depth));
    out.end_object();
    out.integer("matchmakers", static_cast<std::int64_t>(view.matchmakers.size()));
    return out.finish() + "\n";
}

}  // namespace muster
