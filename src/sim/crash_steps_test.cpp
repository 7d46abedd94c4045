// Muster is killed at every single step at which it touches the world: before and after each commit, between a batch
// and its outcome, and between any two frames that it sends.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/simulation.h"

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

SimOptions small_world(std::uint64_t seed) {
    SimOptions options;
    options.seed = seed;
    options.scenario = Scenario::calm;
    options.duration = 40s;
    options.servers = 2;
    options.matchmakers = 1;
    options.players = 1;
    options.slots = 2;
    options.asks_per_minute = 30;
    return options;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr std::uint64_t stride = 23;
#else
constexpr std::uint64_t stride = 1;
#endif

}  // namespace

TEST_CASE(
    "fault 1, fault 65, invariant 14: killed at any step of its store and its sends, Muster recovers what it "
    "answered") {
    for (const std::uint64_t seed : {1, 2}) {
        SimOptions options = small_world(seed);
        const SimReport whole = run_simulation(options);
        REQUIRE_FALSE(whole.objection.has_value());
        REQUIRE(whole.lobbies_allocated > 3);
        REQUIRE(whole.player_logins > 0);
        REQUIRE(whole.muster.steps > 100);
        for (std::uint64_t step = 1; step <= whole.muster.steps; step += stride) {
            options.die_at_step = step;
            const SimReport report = run_simulation(options);
            INFO(fmt::format("seed {}, killed at step {} of {}", seed, step, whole.muster.steps));
            CHECK(report.muster.crashes == 1);
            if (report.objection)
                FAIL_CHECK(report.objection->rule << ": " << report.objection->what << "\n" << replay_command(options));
        }
    }
}
