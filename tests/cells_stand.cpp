// A node with several cells, for tests of what the config does not take yet: `muster serve` with a plan of its own.
//
//   CELLS_STAND_PLAN="eu:2,9:;us:0,1,11,15:players" cells_stand serve --ports-file FILE
//
// Each cell is a name, its regions, and whether it has players. All else comes from the environment, as for `muster`.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>

#include "config/config_environment.h"
#include "config/config_load.h"
#include "config/config_serving.h"
#include "core/cell_plan.h"
#include "daemon/daemon.h"

namespace {

using namespace muster;

CellPlans plan_of(const std::string& text) {
    CellPlans plans;
    std::istringstream cells(text);
    for (std::string cell; std::getline(cells, cell, ';');) {
        std::istringstream parts(cell);
        CellPlan plan;
        std::string regions;
        std::string players;
        std::getline(parts, plan.name, ':');
        std::getline(parts, regions, ':');
        std::getline(parts, players, ':');
        plan.regions.emplace();
        std::istringstream ids(regions);
        for (std::string id; std::getline(ids, id, ',');)
            plan.regions->emplace_back(static_cast<std::int8_t>(std::stoi(id)));
        plan.players = players == "players";
        plans.push_back(std::move(plan));
    }
    std::ranges::sort(plans, {}, &CellPlan::name);
    return plans;
}

}  // namespace

int main(int count, char** arguments) {
    const char* plan = std::getenv("CELLS_STAND_PLAN");
    if (count != 4 || !plan) {
        std::cerr << "usage: CELLS_STAND_PLAN=... cells_stand serve --ports-file FILE\n";
        return 64;
    }
    ConfigSource source{std::nullopt, process_environment()};
    auto loaded = load_config(source);
    auto problems = loaded ? problems_of_serving(loaded->config) : loaded.error();
    for (const std::string& problem : problems) std::cerr << problem << "\n";
    if (!problems.empty()) return 78;
    loaded->config.cluster.cells = plan_of(plan);
    return run_daemon(loaded->config, {std::move(source), std::move(loaded->warnings), arguments[3]});
}
