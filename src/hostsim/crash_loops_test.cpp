// A thousand hosts with one build that crashes at once.
#include <chrono>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "base/seeded_entropy.h"
#include "hostsim/host_agent.h"

namespace muster::hostsim {
namespace {

using namespace std::chrono_literals;

// Every process ends in the moment in which it is started.
class CrashingGround final : public Ground {
public:
    void started(const Machine& machine, std::int32_t pid, SdkKind) override {
        ++starts;
        crashed.emplace_back(&machine, pid);
    }
    void asked_to_stop(const Machine&, std::int32_t) override {}
    void told(const Machine&, std::int32_t, LobbyId) override {}
    void killing(const Machine&, std::string_view) override {}

    int starts = 0;
    std::vector<std::pair<const Machine*, std::int32_t>> crashed;
};

TEST_CASE("fault 94: on a thousand hosts a build that crashes at once is damped, told once and costs nothing then") {
    constexpr int hosts = 1'000;
    VirtualClock clock;
    SeededEntropy entropy(94);
    MusterModel muster;
    CrashingGround ground;
    RunConfig run;
    run.name = "arena";
    run.command = {"./server"};
    run.sdk = SdkKind::none;
    std::vector<std::unique_ptr<Machine>> machines;
    std::vector<std::unique_ptr<HostAgent>> agents;
    for (int i = 0; i < hosts; ++i) {
        machines.push_back(std::make_unique<Machine>("host"));
        agents.push_back(std::make_unique<HostAgent>(HostAgentParts{*machines.back(), muster, ground, clock, entropy},
                                                     std::vector<RunConfig>{run}, 1, Sabotage::none));
        agents.back()->begin();
    }
    const auto play_until = [&](Time until) {
        int turns = 0;
        for (;;) {
            std::optional<Time> next;
            for (const auto& agent : agents)
                if (const auto due = agent->next_turn()) next = next ? std::min(*next, *due) : *due;
            if (!next || *next > until) break;
            if (*next > clock.now()) clock.advance_to(*next);
            for (const auto& agent : agents) {
                const auto due = agent->next_turn();
                if (!due || *due > clock.now()) continue;
                ++turns;
                agent->turn();
            }
            for (const auto& [machine, pid] : std::exchange(ground.crashed, {}))
                for (const auto& each : machines)
                    if (each.get() == machine) each->end(pid, {.code = 1});
            for (const auto& agent : agents) agent->turn();
        }
        clock.advance_to(until);
        return turns;
    };
    play_until(clock.now() + 5min);
    // 1, 2, 4 and 8 s apart, then one try every five minutes.
    CHECK(ground.starts == 5 * hosts);
    for (const auto& agent : agents) CHECK(agent->crash_loops_told() == 1);

    ground.starts = 0;
    const int turns = play_until(clock.now() + 1h);
    CHECK(ground.starts == 12 * hosts);
    CHECK(turns == 12 * hosts);  // nobody wakes up between them
    for (const auto& agent : agents) {
        CHECK(agent->crash_loops_told() == 1);
        CHECK(agent->supervisor().find("arena-1")->state == ProcessState::crash_loop);
    }
}

}  // namespace
}  // namespace muster::hostsim
