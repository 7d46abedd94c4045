#include "hostsim/host_world.h"

#include <cstdlib>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace muster::hostsim {
namespace {

using namespace std::chrono_literals;

// All of them, or the one in MUSTER_TEST_SEED: what a failure has printed.
struct Seeds {
    std::uint64_t first = 1;
    std::uint64_t last = std::getenv("MUSTER_TEST_LONG") ? 5'000 : 150;

    Seeds() {
        if (const char* one = std::getenv("MUSTER_TEST_SEED")) first = last = std::strtoull(one, nullptr, 10);
    }
};

std::string all(const std::vector<std::string>& objections) {
    std::string text;
    for (const std::string& each : objections) text += "\n  " + each;
    return text;
}

TEST_CASE("faults 91 and 92: hosts, agents and Muster that die and come back lose no match and leak nothing") {
    HostWorld::Deeds total;
    const Seeds seeds;
    for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
        HostWorld world({.seed = seed});
        const auto objections = world.run();
        CHECK_MESSAGE(objections.empty(), fmt::format("seed {}:{}", seed, all(objections)));
        if (!objections.empty()) break;
        CHECK(world.judged() > 0);
        const HostWorld::Deeds& deeds = world.deeds();
        total.agents_killed += deeds.agents_killed;
        total.agents_killed_at_work += deeds.agents_killed_at_work;
        total.offers += deeds.offers;
        total.matches_over += deeds.matches_over;
        total.exits += deeds.exits;
        total.musters_away += deeds.musters_away;
        total.records_damaged += deeds.records_damaged;
    }
    if (seeds.first == seeds.last) return;
    // What never happened was not judged.
    CHECK(total.agents_killed > 1'000);
    CHECK(total.agents_killed_at_work > 500);
    CHECK(total.offers > 10'000);
    CHECK(total.matches_over > 10'000);
    CHECK(total.exits > 5'000);
    CHECK(total.musters_away > 100);
    CHECK(total.records_damaged > 50);
}

TEST_CASE("fault 91: the same seed plays the same world") {
    HostWorld one({.seed = 7});
    HostWorld two({.seed = 7});
    CHECK(one.run() == two.run());
    CHECK(one.judged() == two.judged());
    CHECK(one.deeds().exits == two.deeds().exits);
    CHECK(one.deeds().offers == two.deeds().offers);
}

TEST_CASE("faults 91 and 92: without mischief and without bad habits nothing ends but by its own will") {
    HostWorld world({.seed = 3,
                     .mischief = 0s,
                     .calm = 600s,
                     .habits = {.crashes_at_start = 0,
                                .never_ready = 0,
                                .crashes_in_match = 0,
                                .hangs_in_match = 0,
                                .exits_on_offer = 0}});
    CHECK(world.run().empty());
    CHECK(world.deeds().agents_killed == 0);
    CHECK(world.deeds().offers > 50);
}

}  // namespace
}  // namespace muster::hostsim
