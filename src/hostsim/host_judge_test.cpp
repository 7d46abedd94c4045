#include "hostsim/host_judge.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "hostsim/host_world.h"

namespace muster::hostsim {
namespace {

// What the judge said of the first world in which it objected.
std::string first_objection(Sabotage sabotage) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const auto objections = HostWorld({.seed = seed, .sabotage = sabotage}).run();
        if (!objections.empty()) return objections.front();
    }
    return "";
}

struct Broken {
    Sabotage sabotage;
    std::vector<std::string> words;  // one of them stands in the objection
};

TEST_CASE("faults 91 and 92: each way to break an agent is objected to") {
    const Broken all[] = {
        {Sabotage::ends_survivors, {"is ended while it plays"}},
        {Sabotage::forgets_matches, {"was lost at Muster while", "is ended while it plays"}},
        {Sabotage::ignores_unowned, {"has no owner", "was given to", "count_max"}},
        {Sabotage::leaves_children, {"has no owner"}},
        {Sabotage::one_port_for_all, {"was given to"}},
        {Sabotage::starts_twice, {"was given to", "count_max", "has no owner"}},
        {Sabotage::never_starts_again, {"was not started again within", "processes of"}},
        {Sabotage::starts_at_once, {"was started again after"}},
        {Sabotage::forgets_pauses, {"was started again after"}},
        {Sabotage::thinks_well_of_exits, {"told as ended"}},
        {Sabotage::keeps_dead_matches, {"which nobody plays"}},
        {Sabotage::ends_gently_only, {"survive their end"}},
    };
    for (const Broken& each : all) {
        const std::string said = first_objection(each.sabotage);
        bool fits = false;
        for (const std::string& word : each.words) fits = fits || said.find(word) != std::string::npos;
        CHECK_MESSAGE(fits, fmt::format("sabotage {}: '{}'", static_cast<int>(each.sabotage), said));
    }
}

// A machine on which somebody has started too many, without any agent's doing.
TEST_CASE("fault 91: more processes than count_max are seen even when each has a port of its own") {
    std::map<GameKey, Game> games;
    HostJudge judge(games);
    VirtualClock clock;
    SeededEntropy entropy(1);
    MusterModel muster;
    Machine machine("host-1");
    class Nobody final : public Ground {
        void started(const Machine&, std::int32_t, SdkKind) override {}
        void asked_to_stop(const Machine&, std::int32_t) override {}
        void told(const Machine&, std::int32_t, LobbyId) override {}
        void killing(const Machine&, std::string_view) override {}
    } nobody;
    RunConfig run;
    run.name = "arena";
    run.command = {"./server"};
    run.sdk = SdkKind::none;
    HostAgent agent({machine, muster, nobody, clock, entropy}, {run}, 1, Sabotage::none);
    agent.begin();
    agent.turn();
    judge.look(clock.now(), {{machine, &agent}}, muster);
    CHECK(judge.objections().empty());
    machine.spawn({.life = "x", .name = "arena-2", .run = "arena", .port = 7555});
    judge.look(clock.now(), {{machine, &agent}}, muster);
    REQUIRE(judge.objections().size() == 1);
    CHECK(judge.objections()[0].find("2 processes of arena, whose count_max is 1") != std::string::npos);
}

}  // namespace
}  // namespace muster::hostsim
