#include "agent/agent_metrics.h"

#include "agent/supervisor_fixture.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST_CASE_FIXTURE(SupervisorFixture, "G-12: an agent's metrics count starts, exits and crash loops by run") {
    RunConfig run = arena();
    run.count = 2;
    run.count_max = 2;
    configure({run});
    bind_port("arena-1");
    for (int i = 0; i < 5; ++i) {
        exit(i == 0 ? ExitStatus{.code = 0} : crash, "arena-2");
        run_for(20s);
    }
    AgentMetrics metrics;
    // What the loop does with each order, and the process as it stood.
    for (const ProcessNews& each : orders_of<ProcessNews>()) metrics.count(each, *supervisor.find(each.process));
    metrics.record_not_written();
    CHECK(metrics.text(supervisor, {}).find("certificate") == std::string::npos);
    const std::string text = metrics.text(supervisor, {.linked = true, .version = "1.2", .certificate_left = -5});
    for (const char* line :
         {"muster_agent_build_info{version=\"1.2\"} 1\n", "muster_agent_linked 1\n",
          "muster_agent_certificate_expiry_seconds -5\n", "muster_agent_processes_wanted{run=\"arena\"} 2\n",
          "muster_agent_processes{run=\"arena\",state=\"ready\"} 1\n",
          "muster_agent_processes{run=\"arena\",state=\"crash_loop\"} 1\n",
          "muster_agent_starts_total{run=\"arena\"} 6\n",
          "muster_agent_exits_total{run=\"arena\",reason=\"signal\"} 5\n",
          "muster_agent_crash_loops_total{run=\"arena\"} 1\n", "muster_agent_records_not_written_total 1\n"})
        CHECK_MESSAGE(text.find(line) != std::string::npos, line);
}

}  // namespace
}  // namespace muster
