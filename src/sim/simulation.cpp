#include "sim/simulation.h"

#include <fmt/format.h>

#include "sim/world.h"

namespace muster::sim {

SimReport run_simulation(const SimOptions& options) {
    World world(options);
    world.play();
    return world.report();
}

std::string replay_command(const SimOptions& options) {
    std::string command =
        fmt::format("MUSTER_SIM_SEED={} MUSTER_SIM_SCENARIO={}", options.seed, to_string(options.scenario));
    if (options.servers) command += fmt::format(" MUSTER_SIM_SERVERS={}", *options.servers);
    if (options.matchmakers) command += fmt::format(" MUSTER_SIM_MATCHMAKERS={}", *options.matchmakers);
    if (options.players) command += fmt::format(" MUSTER_SIM_PLAYERS={}", *options.players);
    if (options.slots) command += fmt::format(" MUSTER_SIM_SLOTS={}", *options.slots);
    if (options.asks_per_minute) command += fmt::format(" MUSTER_SIM_ASKS={}", *options.asks_per_minute);
    if (options.requests_max) command += fmt::format(" MUSTER_SIM_REQUESTS_MAX={}", *options.requests_max);
    if (options.duration) command += fmt::format(" MUSTER_SIM_SECONDS={:.0f}", to_seconds(*options.duration));
    if (options.die_at_step != 0) command += fmt::format(" MUSTER_SIM_DIE_AT={}", options.die_at_step);
    return command +
           " build/release/src/sim/sim_scenarios --no-skip -tc='the simulation that the environment names is played'";
}

}  // namespace muster::sim
