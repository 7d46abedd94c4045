#include "daemon/game_metrics.h"

#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/histogram.h"

namespace muster {
namespace {

double number(std::uint64_t value) {
    return static_cast<double>(value);
}

MetricLabel label_of(std::string_view name, std::string_view value) {
    return {std::string(name), std::string(value)};
}

Metric family(std::string_view name, std::string_view help, MetricType type) {
    return {std::string(name), std::string(help), type, {}, {}};
}

MetricHistogram histogram_of(const Histogram& histogram, std::vector<MetricLabel> labels) {
    MetricHistogram out{std::move(labels), {}, histogram.count(), histogram.sum()};
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < histogram.bounds().size(); ++i) {
        so_far += histogram.counts()[i];
        out.buckets.push_back({histogram.bounds()[i], so_far});
    }
    return out;
}

Metric tick_histogram(const TickHistogram& ticks) {
    Metric metric =
        family("muster_gameloop_tick_duration_seconds", "How long passes of the game loop took", MetricType::histogram);
    MetricHistogram out;
    for (std::size_t i = 0; i < ticks.bounds.size(); ++i) {
        out.buckets.push_back({std::chrono::duration<double>(ticks.bounds[i]).count(), ticks.at_most[i]});
    }
    out.count = ticks.at_most.back();
    out.sum = to_seconds(ticks.sum);
    metric.histograms.push_back(std::move(out));
    return metric;
}

void add_regions(const CoreFigures& core, std::vector<Metric>& out) {
    Metric servers = family("muster_servers", "Registered game servers by status", MetricType::gauge);
    Metric cpu = family("muster_region_cpu_percent", "Average CPU of a region's servers", MetricType::gauge);
    Metric memory = family("muster_region_memory_percent", "Average memory of a region's servers", MetricType::gauge);
    Metric capacity = family("muster_region_capacity_ratio", "Matches divided by the capacity of a region's servers",
                             MetricType::gauge);
    Metric brake = family("muster_eviction_brake_on", "1 while the eviction brake suspends removals in the region",
                          MetricType::gauge);
    Metric timeouts = family("muster_server_timeouts_total", "Game servers removed for silence", MetricType::counter);
    Metric requests = family("muster_allocation_requests_total", "Allocation requests", MetricType::counter);
    Metric retries = family("muster_allocation_retries_total", "Retries: offers after the first one of a request",
                            MetricType::counter);
    Metric failures =
        family("muster_allocation_failures_total", "Requests that were refused or failed", MetricType::counter);
    Metric seconds =
        family("muster_allocation_seconds", "From the request to its successful answer", MetricType::histogram);
    Metric uptime = family("muster_server_uptime_seconds", "How long removed game servers had been registered",
                           MetricType::histogram);
    for (const CoreFigures::OfRegion& region : core.regions) {
        const MetricLabel of_region = label_of("region", region.name);
        for (std::size_t status = 0; status < region.servers.size(); ++status) {
            const auto name = to_string(static_cast<ServerStatus>(status));
            servers.samples.push_back({{of_region, label_of("status", name)}, number(region.servers[status])});
        }
        cpu.samples.push_back({{of_region}, region.cpu_percent});
        memory.samples.push_back({{of_region}, region.memory_percent});
        capacity.samples.push_back({{of_region}, region.capacity_ratio});
        brake.samples.push_back({{of_region}, region.brake_on ? 1.0 : 0.0});
        timeouts.samples.push_back({{of_region}, number(region.timeouts)});
        requests.samples.push_back({{of_region}, number(region.requests)});
        retries.samples.push_back({{of_region}, number(region.retries)});
        for (const auto& [reason, count] : region.failures) {
            failures.samples.push_back({{of_region, label_of("reason", reason)}, number(count)});
        }
        seconds.histograms.push_back(histogram_of(region.allocation_seconds, {of_region}));
        uptime.histograms.push_back(histogram_of(region.uptime_seconds, {of_region}));
    }
    for (Metric* metric :
         {&servers, &cpu, &memory, &capacity, &brake, &timeouts, &requests, &retries, &failures, &seconds, &uptime}) {
        out.push_back(std::move(*metric));
    }
}

Metric protocol_errors(const CoreFigures& core) {
    Metric metric = family("muster_protocol_errors_total", "Malformed frames", MetricType::counter);
    for (const Port port : ports) {
        for (const WireError kind : wire_errors) {
            const std::uint64_t count =
                core.protocol_errors[static_cast<std::size_t>(port)][static_cast<std::size_t>(kind)];
            metric.samples.push_back(
                {{label_of("port", to_string(port)), label_of("kind", to_string(kind))}, number(count)});
        }
    }
    return metric;
}

Metric auth_failures(const CoreFigures& core) {
    Metric metric =
        family("muster_auth_failures_total", "Wrong tokens and credentials at the game ports", MetricType::counter);
    for (const Port port : ports) {
        metric.samples.push_back(
            {{label_of("port", to_string(port))}, number(core.wrong_secrets[static_cast<std::size_t>(port)])});
    }
    return metric;
}

Metric blocked(const CoreFigures& core) {
    Metric metric = family("muster_blocked_total", "Connections and sessions closed by a block", MetricType::counter);
    for (const Port port : ports)
        metric.samples.push_back(
            {{label_of("port", to_string(port))}, number(core.blocked[static_cast<std::size_t>(port)])});
    return metric;
}

Metric token_refusals(const CoreFigures& core) {
    Metric metric = family("muster_token_refusals_total", "Match tokens that were refused", MetricType::counter);
    for (std::size_t i = 0; i < core.match.token_refusals.size(); ++i) {
        if (core.match.token_refusals[i] == 0) continue;
        metric.samples.push_back(
            {{label_of("reason", label(static_cast<Refusal>(i)))}, number(core.match.token_refusals[i])});
    }
    return metric;
}

// The same failures as by region, for an alert on one reason.
Metric refusals_by_reason(const CoreFigures& core) {
    std::map<std::string_view, std::uint64_t> by_reason;
    for (const CoreFigures::OfRegion& region : core.regions) {
        for (const auto& [reason, count] : region.failures) by_reason[reason] += count;
    }
    Metric metric = family("muster_allocation_refusals_total", "Requests that were refused or failed, of all regions",
                           MetricType::counter);
    for (const auto& [reason, count] : by_reason)
        metric.samples.push_back({{label_of("reason", reason)}, number(count)});
    return metric;
}

Metric matches_by_state(const CoreFigures& core) {
    constexpr std::array<std::string_view, 4> names{"offering", "allocated", "ready", "started"};
    Metric metric = family("muster_matches", "Matches that are not over, by state", MetricType::gauge);
    for (std::size_t i = 0; i < names.size(); ++i)
        metric.samples.push_back({{label_of("state", names[i])}, number(core.matches[i])});
    return metric;
}

// P-9.
void add_players(const CoreFigures& core, std::vector<Metric>& out) {
    const PlayerFigures& players = core.players;
    Metric refused = family("muster_login_refusals_total", "Logins that were refused", MetricType::counter);
    for (const auto& [reason, count] : players.refusals)
        refused.samples.push_back({{label_of("reason", reason)}, number(count)});
    Metric closed = family("muster_sessions_closed_total", "Players' sessions that ended", MetricType::counter);
    for (const auto& [reason, count] : players.closes)
        closed.samples.push_back({{label_of("reason", reason)}, number(count)});
    Metric rtt = family("muster_player_rtt_seconds", "Round trips of players' pings", MetricType::histogram);
    rtt.histograms.push_back(histogram_of(players.rtt_seconds, {}));
    Metric length = family("muster_session_seconds", "Duration of ended sessions", MetricType::histogram);
    length.histograms.push_back(histogram_of(players.session_seconds, {}));
    out.push_back(gauge("muster_players", "Players connected", static_cast<double>(players.connected)));
    out.push_back(gauge("muster_players_in_grace", "Players whose connection was lost and whose session is kept",
                        static_cast<double>(players.in_grace)));
    out.push_back(gauge("muster_players_idle", "Connected players that are idle", static_cast<double>(players.idle)));
    out.push_back(gauge("muster_entities", "Entities in the world", static_cast<double>(core.entities)));
    out.push_back(counter("muster_logins_total", "Sessions that began", number(players.logins)));
    out.push_back(counter("muster_resumes_total", "Sessions that were resumed", number(players.resumes)));
    out.push_back(gauge("muster_world_speed", "Game minutes in a real minute", core.clock_speed));
    for (Metric* metric : {&refused, &closed, &rtt, &length}) out.push_back(std::move(*metric));
}

// G-12.
void add_hosts(const HostCounts& hosts, std::vector<Metric>& out) {
    Metric known = family("muster_hosts", "Hosts whose agent is connected, awaited since a restart of Muster, or lost",
                          MetricType::gauge);
    known.samples.push_back({{label_of("state", "connected")}, number(hosts.connected)});
    known.samples.push_back({{label_of("state", "awaited")}, number(hosts.awaited)});
    known.samples.push_back({{label_of("state", "lost")}, number(hosts.lost)});
    Metric processes = family("muster_host_processes", "Processes of connected hosts by state", MetricType::gauge);
    for (std::size_t state = 0; state < hosts.processes.size(); ++state) {
        processes.samples.push_back(
            {{label_of("state", to_string(static_cast<ProcessState>(state)))}, number(hosts.processes[state])});
    }
    Metric exits = family("muster_process_exits_total", "Processes of hosts that ended, by how", MetricType::counter);
    for (const char* how : {"clean", "code", "signal", "unknown"}) {
        const auto found = hosts.exits.find(how);
        exits.samples.push_back({{label_of("reason", how)}, found == hosts.exits.end() ? 0.0 : number(found->second)});
    }
    for (Metric* metric : {&known, &processes, &exits}) out.push_back(std::move(*metric));
    out.push_back(gauge("muster_crash_loops", "Processes of connected hosts that are in a crash loop",
                        number(hosts.processes[static_cast<std::size_t>(ProcessState::crash_loop)])));
    out.push_back(counter("muster_crash_loops_total", "Crash loops that began", number(hosts.crash_loops)));
    out.push_back(counter("muster_host_losses_total", "Hosts that were lost", number(hosts.losses)));
    out.push_back(counter("muster_host_events_dropped_total",
                          "Events of processes that were not told because their host had too many",
                          number(hosts.events_held_back)));
}

}  // namespace

std::vector<Metric> loop_metrics(const LoopFigures& loop) {
    Metric errors =
        family("muster_callback_errors_total", "Handlers, timers and listeners that threw", MetricType::counter);
    for (std::size_t i = 0; i < loop.callback_errors.size(); ++i) {
        errors.samples.push_back(
            {{label_of("kind", to_string(static_cast<HandlerKind>(i)))}, number(loop.callback_errors[i])});
    }
    Metric queues = family("muster_queue_depth", "Messages waiting for the game loop", MetricType::gauge);
    for (const LoopFigures::Queue& queue : loop.queues) {
        queues.samples.push_back({{label_of("queue", queue.name)}, static_cast<double>(queue.depth)});
    }
    return {
        gauge("muster_gameloop_tick_duration_avg_ms", "Average pass of the last 10 s", loop.tick_duration_avg_ms),
        gauge("muster_gameloop_tick_duration_max_ms", "Longest pass of the last 10 s", loop.tick_duration_max_ms),
        gauge("muster_gameloop_tick_duration_deviation_ms", "Standard deviation of the last 10 s",
              loop.tick_duration_deviation_ms),
        gauge("muster_gameloop_loop_work_units_avg", "Messages, timers and events per pass of the last 10 s",
              loop.work_units_avg),
        counter("muster_gameloop_loop_tick_count", "Passes of the game loop", number(loop.ticks)),
        counter("muster_gameloop_loop_idle_sleep_count", "Times the game loop waited for work",
                number(loop.idle_sleeps)),
        counter("muster_gameloop_tick_overruns_total", "Passes that took longer than allowed", number(loop.overruns)),
        counter("muster_gameloop_failed_ticks_total", "Passes that an exception ended", number(loop.failed_ticks)),
        counter("muster_timer_timer_processed_ticks_total", "Timers that fired", number(loop.timers_fired)),
        gauge("muster_timers", "Pending timers", static_cast<double>(loop.timers_outstanding)),
        counter("muster_events_total", "Events handled", number(loop.events_handled)),
        counter("muster_loop_gaps_total", "Times the process was stopped for over a second", number(loop.gaps)),
        counter("muster_loop_gap_seconds", "Total time for which the process was stopped", loop.gap_seconds),
        tick_histogram(loop.tick_durations),
        std::move(errors),
        std::move(queues),
    };
}

std::vector<Metric> core_metrics(const CoreFigures& core) {
    std::vector<Metric> out;
    add_regions(core, out);
    out.push_back(protocol_errors(core));
    out.push_back(auth_failures(core));
    out.push_back(blocked(core));
    out.push_back(gauge("muster_blocks", "Addresses, accounts and names that are blocked", number(core.blocks)));
    out.push_back(token_refusals(core));
    out.push_back(refusals_by_reason(core));
    out.push_back(matches_by_state(core));
    add_players(core, out);
    add_hosts(core.hosts, out);
    Metric rtt = family("muster_server_rtt_seconds", "The kernel's round trip to game servers", MetricType::histogram);
    rtt.histograms.push_back(histogram_of(core.fleet.rtt_seconds, {}));
    Metric jitter =
        family("muster_server_jitter_seconds", "Deviation of heartbeats from their interval", MetricType::histogram);
    jitter.histograms.push_back(histogram_of(core.fleet.jitter_seconds, {}));
    out.push_back(std::move(rtt));
    out.push_back(std::move(jitter));
    const std::pair<const char*, std::pair<const char*, std::uint64_t>> counters[] = {
        {"muster_bad_load_reports_total", {"Heartbeats with invalid load figures", core.fleet.bad_load_reports}},
        {"muster_identity_mismatch_total",
         {"Messages with a server id that belongs to another connection", core.fleet.identity_mismatches}},
        {"muster_load_mismatch_total",
         {"Heartbeats that report fewer matches than are held", core.fleet.load_mismatches}},
        {"muster_eviction_brake_total", {"Times the eviction brake engaged", core.fleet.brakes}},
        {"muster_bad_acks_total", {"Acknowledgements that fit no offer", core.match.bad_acks}},
        {"muster_lost_matches_total", {"Matches that their server lost by a restart", core.match.lost_matches}},
        {"muster_tokens_accepted_total", {"Players let in by their token", core.match.tokens_accepted}},
        {"muster_recovered_allocations_total", {"Allocations found at the start", core.match.recovered}},
        {"muster_withdrawn_allocations_total",
         {"Recovered allocations that their game server did not hold, and that were aborted",
          core.match.recovered_dropped}},
        {"muster_owed_aborts_dropped_total",
         {"Aborts dropped because too many waited for game servers that are away", core.owed_aborts_dropped}},
        {"muster_untold_matches_dropped_total",
         {"Match events dropped because their matchmaker stayed away", core.untold_matches_dropped}},
        {"muster_stale_messages_total", {"Frames and reports of connections that were over", core.stale_messages}},
        {"muster_clock_steps_total", {"Steps of the machine's date", core.clock_steps}},
        {"muster_events_not_written_total",
         {"Events lost because the disk was full or too slow", core.events_not_written}},
    };
    for (const auto& [name, figure] : counters) out.push_back(counter(name, figure.first, number(figure.second)));
    Metric refused = family("muster_registrations_refused_total",
                            "Game servers and matchmakers refused at their handshake", MetricType::counter);
    for (const CoreFigures::RefusedOf& of : core.registrations_refused)
        refused.samples.push_back(
            {{label_of("port", to_string(of.port)), label_of("reason", of.reason)}, number(of.count)});
    out.push_back(std::move(refused));
    out.push_back(gauge("muster_allocations_in_flight", "Allocation requests waiting for their answer",
                        static_cast<double>(core.allocations_in_flight)));
    out.push_back(gauge("muster_owed_aborts", "Aborts that game servers have not surely heard of",
                        static_cast<double>(core.owed_aborts)));
    out.push_back(gauge("muster_player_lists", "Lobbies whose players a matchmaker has named",
                        static_cast<double>(core.player_lists)));
    out.push_back(gauge("muster_untold_matches", "Ended matches whose matchmaker may not know yet",
                        static_cast<double>(core.untold_matches)));
    out.push_back(gauge("muster_matchmakers", "Matchmakers connected", static_cast<double>(core.matchmakers)));
    out.push_back(gauge("muster_store_up", "1 while the store accepts records", core.store_up ? 1 : 0));
    return out;
}

std::vector<Metric> net_metrics(const Network& network) {
    Metric connections = family("muster_connections", "Open connections", MetricType::gauge);
    Metric messages = family("muster_messages_total", "Frames received", MetricType::counter);
    Metric sent = family("muster_messages_sent_total", "Frames sent", MetricType::counter);
    Metric received_bytes = family("muster_received_bytes_total", "Bytes received", MetricType::counter);
    Metric sent_bytes = family("muster_sent_bytes_total", "Bytes sent", MetricType::counter);
    Metric refused = family("muster_connections_refused_total", "Connections refused by a limit", MetricType::counter);
    Metric closed = family("muster_connections_closed_total", "Connections that ended, by reason", MetricType::counter);
    Metric deadlines = family("muster_deadline_closes_total",
                              "Connections closed for a handshake or frame that took too long", MetricType::counter);
    Metric limited =
        family("muster_rate_limited_total", "Times a connection was paused for sending too fast", MetricType::counter);
    Metric slow =
        family("muster_slow_reader_closes_total", "Connections dropped because they did not read", MetricType::counter);
    Metric accept_errors =
        family("muster_accept_errors_total", "Connections that could not be accepted", MetricType::counter);
    Metric tls_failures =
        family("muster_tls_failures_total", "Connections refused for their TLS, by reason", MetricType::counter);
    Metric tls_handshakes = family("muster_tls_handshakes_total", "TLS handshakes finished", MetricType::counter);
    for (const Port port : ports) {
        const PortFigures& of = network.figures().of(port);
        const MetricLabel of_port = label_of("port", to_string(port));
        connections.samples.push_back({{of_port}, number(of.connections.value())});
        messages.samples.push_back({{of_port}, number(of.frames_in.value())});
        sent.samples.push_back({{of_port}, number(of.frames_out.value())});
        received_bytes.samples.push_back({{of_port}, number(of.bytes_in.value())});
        sent_bytes.samples.push_back({{of_port}, number(of.bytes_out.value())});
        for (const AcceptRefusal reason : accept_refusals) {
            refused.samples.push_back(
                {{of_port, label_of("reason", to_string(reason))}, number(of.refused[reason].value())});
        }
        for (const CloseReason reason : close_reasons) {
            closed.samples.push_back(
                {{of_port, label_of("reason", to_string(reason))}, number(of.closed[reason].value())});
        }
        deadlines.samples.push_back(
            {{of_port, label_of("kind", "handshake")}, number(of.gave_up[LinkFault::handshake_deadline].value())});
        deadlines.samples.push_back(
            {{of_port, label_of("kind", "frame")}, number(of.gave_up[LinkFault::frame_deadline].value())});
        for (const TlsFailure reason : muster::tls_failures) {
            tls_failures.samples.push_back(
                {{of_port, label_of("reason", to_string(reason))}, number(of.tls_failed[reason].value())});
        }
        const std::uint64_t resumed = of.tls_resumed.value();
        tls_handshakes.samples.push_back(
            {{of_port, label_of("kind", "full")}, number(of.tls_handshakes.value() - resumed)});
        tls_handshakes.samples.push_back({{of_port, label_of("kind", "resumed")}, number(resumed)});
        limited.samples.push_back({{of_port}, number(of.rate_limited.value())});
        slow.samples.push_back({{of_port}, number(of.closed[CloseReason::slow_reader].value())});
        accept_errors.samples.push_back({{of_port}, number(of.accept_errors.value())});
    }
    std::vector<Metric> out{
        gauge("muster_buffered_bytes", "Bytes buffered for all connections",
              static_cast<double>(network.buffered_bytes())),
        counter("muster_stale_replies_total", "Answers for connections that were gone",
                number(network.figures().stale_replies.value())),
    };
    for (Metric* metric : {&connections, &messages, &sent, &received_bytes, &sent_bytes, &refused, &closed, &deadlines,
                           &limited, &slow, &accept_errors, &tls_failures, &tls_handshakes}) {
        out.push_back(std::move(*metric));
    }
    return out;
}

std::vector<Metric> store_metrics(const StoreFigures& store, Duration recovery) {
    Metric errors = family("muster_store_errors_total", "Commits that failed", MetricType::counter);
    errors.samples.push_back({{label_of("kind", "full")}, number(store.faults_full)});
    errors.samples.push_back({{label_of("kind", "transient")}, number(store.faults_transient)});
    errors.samples.push_back({{label_of("kind", "refused")}, number(store.faults_refused)});
    errors.samples.push_back({{label_of("kind", "misplaced")}, number(store.faults_misplaced)});
    errors.samples.push_back({{label_of("kind", "fatal")}, number(store.faults_fatal)});
    Metric commits = family("muster_store_commit_seconds", "How long commits took", MetricType::histogram);
    MetricHistogram histogram;
    const std::vector<double>& bounds = commit_seconds_bounds();
    for (std::size_t i = 0; i < bounds.size() && i < store.commit_seconds_counts.size(); ++i) {
        histogram.buckets.push_back({bounds[i], store.commit_seconds_counts[i]});
    }
    histogram.count = store.commit_seconds_counts.empty() ? 0 : store.commit_seconds_counts.back();
    histogram.sum = store.commit_seconds_sum;
    commits.histograms.push_back(std::move(histogram));
    // Of a database nobody but its own operators knows.
    Metric free_bytes = family("muster_store_free_bytes", "Free space on the store's disk", MetricType::gauge);
    if (store.free_bytes != std::numeric_limits<std::int64_t>::max())
        free_bytes.samples.push_back({{}, static_cast<double>(store.free_bytes)});
    return {
        counter("muster_store_records_total", "Records made durable", number(store.records)),
        gauge("muster_store_queue_depth", "Batches that the store has not answered yet", number(store.queue_depth)),
        gauge("muster_history_bytes", "Size of the store, nearly all of it history",
              static_cast<double>(store.history_bytes)),
        std::move(free_bytes),
        gauge("muster_recovery_seconds", "How long the last start took to read the store", to_seconds(recovery)),
        std::move(errors),
        std::move(commits),
    };
}

}  // namespace muster
