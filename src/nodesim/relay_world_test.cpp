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
        "{}: {}\nplay it again: MUSTER_TEST_SEED={} build/release/src/nodesim/nodesim_tests -tc='*owners*change'",
        report.objection->rule, report.objection->what, options.seed);
    for (const std::string& line : run_relays(options).trace) text += "\n  " + line;
    return text;
}

// Plays the seeds, and says what happened in all of them.
RelayReport play_all(std::size_t cells) {
    std::uint64_t first = 1;
    std::uint64_t last = std::getenv("MUSTER_TEST_LONG") ? 3'000 : 100;
    if (const char* one = std::getenv("MUSTER_TEST_SEED")) first = last = std::strtoull(one, nullptr, 10);
    RelayReport total;
    for (std::uint64_t seed = first; seed <= last; ++seed) {
        const RelayOptions options{.seed = seed, .cells = cells};
        const RelayReport report = run_relays(options);
        CHECK_MESSAGE(!report.objection, told(options, report));
        if (report.objection) break;
        total.owners += report.owners;
        total.links_broken += report.links_broken;
        total.links_lost_one_way += report.links_lost_one_way;
        total.answers += report.answers;
    }
    MESSAGE(fmt::format("{} owners, {} links broken, {} lost one way, {} answers", total.owners, total.links_broken,
                        total.links_lost_one_way, total.answers));
    if (first == last) return total;
    // What never happened was not judged.
    CHECK(total.owners > 500);
    CHECK(total.links_broken > 1'000);
    CHECK(total.links_lost_one_way > 200);
    CHECK(total.answers > 50'000);
    return total;
}

TEST_CASE("N-7, faults 84 and 85: relays lose, double and reorder nothing, over broken links and owners that change") {
    static_cast<void>(play_all(1));
}

TEST_CASE("N-7, fault 85: relays of two cells tell each owner its peers, and peers hear one answer, as owners change") {
    static_cast<void>(play_all(2));
}

TEST_CASE("N-7: the same seed plays the same world of relays") {
    CHECK(run_relays({.seed = 7}).trace_hash == run_relays({.seed = 7}).trace_hash);
    CHECK(run_relays({.seed = 7}).trace_hash != run_relays({.seed = 8}).trace_hash);
}

TEST_CASE("N-7, fault 85: a relay that loses, doubles, swaps or forgets is found") {
    for (const RelaySabotage sabotage :
         {RelaySabotage::loses, RelaySabotage::doubles, RelaySabotage::swaps, RelaySabotage::forgets}) {
        for (const std::size_t cells : {1, 2}) {
            CAPTURE(static_cast<int>(sabotage));
            CAPTURE(cells);
            bool is_found = false;
            for (std::uint64_t seed = 1; seed <= 10 && !is_found; ++seed)
                is_found = run_relays({.seed = seed, .cells = cells, .sabotage = sabotage}).objection.has_value();
            CHECK(is_found);
        }
    }
}

TEST_CASE("N-7: a relay that takes one cell for another is found") {
    CHECK(run_relays({.seed = 1, .cells = 2, .sabotage = RelaySabotage::misroutes}).objection.has_value());
}

}  // namespace
}  // namespace muster::nodesim
