#include "nodesim/relay_world.h"

#include <cstdlib>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace muster::nodesim {
namespace {

// What broke in which seed, with the trace; empty: nothing.
std::string told(RelayOptions options, const RelayReport& report) {
    if (!report.objection) return "";
    options.readable_trace = true;
    std::string text = fmt::format(
        "{}: {}\nplay it again: MUSTER_TEST_SEED={} build/release/src/nodesim/nodesim_tests -tc='*owners that change'",
        report.objection->rule, report.objection->what, options.seed);
    for (const std::string& line : run_relays(options).trace) text += "\n  " + line;
    return text;
}

TEST_CASE("N-7, faults 84 and 85: relays lose, double and reorder nothing, over broken links and owners that change") {
    std::uint64_t first = 1;
    std::uint64_t last = std::getenv("MUSTER_TEST_LONG") ? 3'000 : 100;
    if (const char* one = std::getenv("MUSTER_TEST_SEED")) first = last = std::strtoull(one, nullptr, 10);
    RelayReport total;
    for (std::uint64_t seed = first; seed <= last; ++seed) {
        const RelayOptions options{.seed = seed};
        const RelayReport report = run_relays(options);
        CHECK_MESSAGE(!report.objection, told(options, report));
        if (report.objection) break;
        total.owners += report.owners;
        total.links_broken += report.links_broken;
        total.links_lost_one_way += report.links_lost_one_way;
        total.answers += report.answers;
    }
    if (first == last) return;
    MESSAGE(fmt::format("{} owners, {} links broken, {} lost one way, {} answers", total.owners, total.links_broken,
                        total.links_lost_one_way, total.answers));
    // What never happened was not judged.
    CHECK(total.owners > 500);
    CHECK(total.links_broken > 1'000);
    CHECK(total.links_lost_one_way > 200);
    CHECK(total.answers > 50'000);
}

TEST_CASE("N-7: the same seed plays the same world of relays") {
    CHECK(run_relays({.seed = 7}).trace_hash == run_relays({.seed = 7}).trace_hash);
    CHECK(run_relays({.seed = 7}).trace_hash != run_relays({.seed = 8}).trace_hash);
}

TEST_CASE("N-7, fault 85: a relay that loses, doubles, swaps or forgets is found") {
    for (const RelaySabotage sabotage :
         {RelaySabotage::loses, RelaySabotage::doubles, RelaySabotage::swaps, RelaySabotage::forgets}) {
        CAPTURE(static_cast<int>(sabotage));
        bool is_found = false;
        for (std::uint64_t seed = 1; seed <= 10 && !is_found; ++seed)
            is_found = run_relays({.seed = seed, .sabotage = sabotage}).objection.has_value();
        CHECK(is_found);
    }
}

}  // namespace
}  // namespace muster::nodesim
