#include "agent/agent_metrics.h"

#include <array>
#include <cstddef>

#include <fmt/format.h>

namespace muster {
namespace {

std::string_view how_it_ended(const Process& process) {
    if (!process.last_exit) return "unknown";
    const ExitStatus& status = process.last_exit->status;
    if (status.signal) return "signal";
    if (!status.code) return "unknown";
    return *status.code == 0 ? "clean" : "code";
}

void begin(std::string& out, std::string_view name, std::string_view kind, std::string_view help) {
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, kind);
}

void by_run(std::string& out, std::string_view name, std::string_view help,
            const std::map<std::string, std::uint64_t>& figures) {
    begin(out, name, "counter", help);
    for (const auto& [run, figure] : figures) out += fmt::format("{}{{run=\"{}\"}} {}\n", name, run, figure);
}

}  // namespace

void AgentMetrics::count(const ProcessNews& news, const Process& process) {
    const std::string& run = process.run->name;
    switch (news.kind) {
        case ProcessNews::Kind::started:
            ++starts_[run];
            return;
        case ProcessNews::Kind::exited:
            ++exits_[{run, how_it_ended(process)}];
            return;
        case ProcessNews::Kind::unhealthy:
            ++unhealthy_[run];
            return;
        case ProcessNews::Kind::crash_loop:
            ++crash_loops_[run];
            return;
        case ProcessNews::Kind::ready:
        case ProcessNews::Kind::changed:
            return;
    }
}

std::string AgentMetrics::text(const Supervisor& supervisor, const Now& now) const {
    std::map<std::string, std::array<std::uint64_t, process_state_count>> states;
    for (const Process* each : supervisor.processes()) ++states[each->run->name][static_cast<std::size_t>(each->state)];

    std::string out;
    begin(out, "muster_agent_build_info", "gauge", "Always 1; the version is a label.");
    out += fmt::format("muster_agent_build_info{{version=\"{}\"}} 1\n", now.version);
    begin(out, "muster_agent_linked", "gauge", "Whether this host has a link to Muster.");
    out += fmt::format("muster_agent_linked {}\n", now.linked ? 1 : 0);
    begin(out, "muster_agent_draining", "gauge", "Whether an operator drains this host.");
    out += fmt::format("muster_agent_draining {}\n", supervisor.draining() ? 1 : 0);
    if (now.certificate_left) {
        begin(out, "muster_agent_certificate_expiry_seconds", "gauge",
              "Time until the agent's TLS certificate expires; negative afterwards.");
        out += fmt::format("muster_agent_certificate_expiry_seconds {}\n", *now.certificate_left);
    }
    begin(out, "muster_agent_processes_wanted", "gauge", "Processes that are to run, by run.");
    for (const std::string& run : supervisor.runs())
        out += fmt::format("muster_agent_processes_wanted{{run=\"{}\"}} {}\n", run, supervisor.wanted(run).value_or(0));
    begin(out, "muster_agent_processes", "gauge", "Processes by run and state.");
    for (const auto& [run, figures] : states)
        for (std::size_t state = 0; state < figures.size(); ++state)
            out += fmt::format("muster_agent_processes{{run=\"{}\",state=\"{}\"}} {}\n", run,
                               to_string(static_cast<ProcessState>(state)), figures[state]);
    by_run(out, "muster_agent_starts_total", "Processes started, by run.", starts_);
    begin(out, "muster_agent_exits_total", "counter",
          "Processes that ended, by run and how: clean, code, signal, unknown.");
    for (const auto& [key, figure] : exits_)
        out += fmt::format("muster_agent_exits_total{{run=\"{}\",reason=\"{}\"}} {}\n", key.first, key.second, figure);
    by_run(out, "muster_agent_unhealthy_total", "Processes that were ended because they were unhealthy, by run.",
           unhealthy_);
    by_run(out, "muster_agent_crash_loops_total", "Crash loops that began, by run.", crash_loops_);
    begin(out, "muster_agent_records_not_written_total", "counter",
          "Times that the state folder did not take what the next agent must know.");
    out += fmt::format("muster_agent_records_not_written_total {}\n", records_not_written_);
    return out;
}

}  // namespace muster
