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
    if (options.die_at_step != 0) command += fmt::format(" MUSTER_SIM_DIE_AT={}", options.die_at_step);
    return command + " sim_tests -tc='the simulation that the environment names is played'";
}

}  // namespace muster::sim
