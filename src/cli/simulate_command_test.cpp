// What `muster simulate` relies on: a run that tells how far it is, and that can be left.
#include <algorithm>
#include <chrono>
#include <vector>

#include <doctest/doctest.h>

#include "sim/simulation.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

sim::SimOptions some_run() {
    sim::SimOptions options;
    options.seed = 7;
    options.duration = 20min;
    options.servers = 4;
    return options;
}

}  // namespace

TEST_CASE("O-3: a run tells rising shares of its virtual time, and plays the same as one that tells nothing") {
    sim::SimOptions options = some_run();
    const sim::SimReport silent = sim::run_simulation(options);
    std::vector<double> shares;
    options.on_progress = [&](double share) { shares.push_back(share); };
    const sim::SimReport telling = sim::run_simulation(options);
    CHECK(telling.trace_hash == silent.trace_hash);
    CHECK(telling.virtual_time == silent.virtual_time);
    REQUIRE(shares.size() > 5);
    CHECK(std::is_sorted(shares.begin(), shares.end()));
    CHECK(shares.front() >= 0);
    CHECK(shares.front() < 0.5);
    CHECK(shares.back() > 0.8);
    CHECK(shares.back() <= 1);
}

TEST_CASE("O-3: what the listener throws ends the run and comes out of it") {
    struct Enough {};
    int calls = 0;
    sim::SimOptions options = some_run();
    options.on_progress = [&](double) {
        if (++calls == 2) throw Enough();
    };
    CHECK_THROWS_AS(sim::run_simulation(options), Enough);
    CHECK(calls == 2);
}

}  // namespace muster
