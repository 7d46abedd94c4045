#include "sim/simulation.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr std::uint64_t slowness = 25;
#else
constexpr std::uint64_t slowness = 1;
#endif

bool long_asked() {
    const char* asked = std::getenv("MUSTER_TEST_LONG");
    return asked && std::string(asked) == "1";
}

std::uint64_t seeds_to_play(std::uint64_t quick) {
    return std::max<std::uint64_t>(1, quick * (long_asked() ? 17 : 1) / slowness);
}

// Servers of the tests that are about many.
int large_fleet() {
    if (slowness > 1) return 300;
    return long_asked() ? 10'000 : 2'000;
}

// Plays the failed options again, with a trace that a person can read.
std::string told(SimOptions options) {
    options.readable_trace = true;
    const SimReport report = run_simulation(options);
    if (!report.objection) return "the rule is kept when it is played again: the simulation is not deterministic";
    std::string text =
        fmt::format("\n{}: {}\n  lobby {}, server {}\n  {}\n", report.objection->rule, report.objection->what,
                    report.objection->lobby.value, report.objection->server.value, replay_command(options));
    for (const std::string& line : report.trace) text += "  " + line + "\n";
    return text;
}

// Each scenario has seeds of its own, so that what one finds is not found again by another.
// Returns what happened in all of them together.
SimReport play_seeds(Scenario scenario, std::uint64_t quick, Sabotage* sabotage = nullptr) {
    const std::uint64_t count = seeds_to_play(quick);
    const std::uint64_t first = static_cast<std::uint64_t>(scenario) * 1'000'000 + 1;
    SimReport sum;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        SimOptions options;
        options.seed = seed;
        options.scenario = scenario;
        options.sabotage = sabotage;
        const SimReport report = run_simulation(options);
        if (report.objection) FAIL(told(options));
        sum.muster.stops_inside += report.muster.stops_inside;
        sum.muster.sync_failures += report.muster.sync_failures;
        sum.muster.handlers_failed += report.muster.handlers_failed;
        sum.muster.stale_messages += report.muster.stale_messages;
        sum.muster.bad_acks += report.muster.bad_acks;
        sum.muster.lost_matches += report.muster.lost_matches;
        sum.muster.load_mismatches += report.muster.load_mismatches;
        sum.muster.longest_pass = std::max(sum.muster.longest_pass, report.muster.longest_pass);
        sum.links_lost_one_way += report.links_lost_one_way;
        sum.servers_removed += report.servers_removed;
        sum.tokens_accepted += report.tokens_accepted;
        sum.tokens_refused += report.tokens_refused;
        sum.player_logins += report.player_logins;
        sum.lobbies_allocated += report.lobbies_allocated;
    }
    return sum;
}

// One of four parts of 500 hours: 50 seeds of two and a half hours each, with everything going wrong.
void play_hours(std::uint64_t part) {
    const std::uint64_t first = 100'000'000 + part * 1'000'000 + 1;
    const std::uint64_t count = seeds_to_play(50);
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        SimOptions options;
        options.seed = seed;
        options.scenario = Scenario::mixed;
        options.duration = 150min;
        if (run_simulation(options).objection) FAIL(told(options));
    }
}

// Whether the seeds that are played are enough to see something rare.
constexpr bool sees_rare_things = slowness == 1;

// On some links a handler of some message throws. It counts nothing, so that a seed played again is the same.
class FailingHandlers final : public Sabotage {
public:
    // Of game servers and matchmakers: what a player is told then, its judge does not know.
    bool fails(LinkNumber link, Port port, Code code) override {
        return port != Port::players && (link * 31 + code) % 29 == 0;
    }
};

}  // namespace

TEST_CASE("invariants 1-18, 20 and 22, F, A and K hold over many seeds in calm weather") {
    play_seeds(Scenario::calm, 60);
}
TEST_CASE(
    "invariants 1-18, 20 and 22, faults 20, 21, 30, 31, 47, 48, 61, 64 and 67 hold over many seeds with lost links and "
    "servers that come and go") {
    const SimReport sum = play_seeds(Scenario::lossy, 200);
    if (!sees_rare_things) return;
    CHECK(sum.links_lost_one_way > 0);      // fault 30
    CHECK(sum.muster.stale_messages > 0);   // fault 31
    CHECK(sum.muster.load_mismatches > 0);  // fault 47
    CHECK(sum.muster.lost_matches > 0);     // fault 48
    CHECK(sum.muster.bad_acks > 0);         // fault 61
    CHECK(sum.servers_removed > 0);         // fault 64
    CHECK(sum.tokens_accepted > 0);         // fault 67
    CHECK(sum.tokens_refused > 0);
}
TEST_CASE("W-8, fault 32: no order in which the network's threads report breaks anything, over many seeds of churn") {
    const SimReport sum = play_seeds(Scenario::churn, 200);
    if (sees_rare_things) CHECK(sum.muster.stale_messages > 0);
}
TEST_CASE(
    "A-10, fault 71: matchmakers with much to hear are told all of it, and no link is cut for it, over many seeds") {
    CHECK(play_seeds(Scenario::backlog, 20).lobbies_allocated > (sees_rare_things ? 100U : 10U));
}
TEST_CASE("fault 18: a date that is days ahead for a while erases nothing, over many seeds with restarts meanwhile") {
    play_seeds(Scenario::dates, 100);
}
TEST_CASE("L-4, fault 12: a loop that takes long for each message keeps its passes short, and starves nobody") {
    const SimReport sum = play_seeds(Scenario::starved, 60);
    CHECK(sum.muster.longest_pass > 50ms);
    CHECK(sum.muster.longest_pass < 500ms);
}
TEST_CASE("L-5, fault 13: a handler that throws costs its own link and nothing else, over many seeds") {
    FailingHandlers failing;
    const SimReport sum = play_seeds(Scenario::lossy, 20, &failing);
    CHECK(sum.muster.handlers_failed > 0);
    CHECK(sum.lobbies_allocated > 0);
}
TEST_CASE("invariants 1-18, 20 and 22, A-9 and fault 5 hold over many seeds with a slow disk") {
    play_seeds(Scenario::slow_disk, 160);
}
TEST_CASE("invariants 1-18, 20 and 22, X-4 and fault 4 hold over many seeds with a full disk") {
    play_seeds(Scenario::full_disk, 160);
}
TEST_CASE(
    "invariants 1-18, 20 and 22, faults 1, 2, 3, 62, 65 and 72 hold over many seeds with kill -9 at random instants "
    "and "
    "syncs that fail") {
    const SimReport sum = play_seeds(Scenario::crashing, 200);
    if (sees_rare_things) CHECK(sum.muster.sync_failures > 0);  // fault 3
}
TEST_CASE("invariants 1-18, 20 and 22, L-8, faults 11, 15 and 63 hold over many seeds with gaps and changed dates") {
    const SimReport sum = play_seeds(Scenario::gaps, 160);
    if (sees_rare_things) CHECK(sum.muster.stops_inside > 0);
}
TEST_CASE("invariants 1-18, 20 and 22 hold over many seeds with everything going wrong at once") {
    play_seeds(Scenario::mixed, 260);
}

TEST_CASE("invariants 1-18, 20 and 22, P, H and C hold over many seeds with players who do everything wrong") {
    play_seeds(Scenario::players, 160);
}

TEST_CASE("invariants 1-18, 20 and 22 hold over hours: what is forgotten in time is missed by nobody") {
    for (const Scenario scenario : {Scenario::lossy, Scenario::gaps, Scenario::mixed, Scenario::players}) {
        for (std::uint64_t seed = 1; seed <= std::max<std::uint64_t>(1, seeds_to_play(6)); ++seed) {
            SimOptions options;
            options.seed = seed;
            options.scenario = scenario;
            options.duration = 150min;
            if (run_simulation(options).objection) FAIL(told(options));
        }
    }
}

// Parts, so that they run beside other tests.
TEST_CASE("invariants 1-18, 20 and 22 hold over 500 hours with everything going wrong at once: part 1 of 4") {
    play_hours(0);
}
TEST_CASE("invariants 1-18, 20 and 22 hold over 500 hours with everything going wrong at once: part 2 of 4") {
    play_hours(1);
}
TEST_CASE("invariants 1-18, 20 and 22 hold over 500 hours with everything going wrong at once: part 3 of 4") {
    play_hours(2);
}
TEST_CASE("invariants 1-18, 20 and 22 hold over 500 hours with everything going wrong at once: part 4 of 4") {
    play_hours(3);
}

TEST_CASE(
    "F-2, F-8, invariant 10 and fault 29 hold over many seeds where the brake is pulled and let go all the time") {
    std::uint64_t brakes = 0;
    for (std::uint64_t seed = 1; seed <= std::max<std::uint64_t>(1, seeds_to_play(12)); ++seed) {
        SimOptions options;
        options.seed = seed;
        options.scenario = Scenario::mixed;
        options.servers = 50;
        options.duration = 15min;
        const SimReport report = run_simulation(options);
        if (report.objection) FAIL(told(options));
        brakes += report.brakes;
    }
    CHECK(brakes > 0);
}

TEST_CASE("P-4, P-5, P-6, H-4: the seeds see players come back, idle, and end for every reason there is") {
    std::map<std::string, std::uint64_t> closes;
    SimReport sum;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SimOptions options;
        options.seed = seed;
        options.scenario = Scenario::players;
        const SimReport report = run_simulation(options);
        if (report.objection) FAIL(told(options));
        for (const auto& [why, times] : report.player_closes) closes[why] += times;
        sum.player_resumes += report.player_resumes;
        sum.player_idles += report.player_idles;
        sum.invited += report.invited;
        sum.sent_away += report.sent_away;
        sum.longest_wait_for_ping = std::max(sum.longest_wait_for_ping, report.longest_wait_for_ping);
    }
    for (const char* why : {"Ping timeout", "Idle too long", "Heartbeat failed", "Logged in elsewhere", "Kicked",
                            "Server shutting down", "Malformed message", "Connection lost", "Logged out"}) {
        INFO(why);
        CHECK(closes[why] > 0);
    }
    CHECK(sum.player_resumes > 0);
    CHECK(sum.player_idles > 0);
    CHECK(sum.invited > 0);
    CHECK(sum.sent_away > 0);
    // P-2: a client's own alarm of 30 s never goes off while nothing is wrong.
    CHECK(sum.longest_wait_for_ping > 27s);
    CHECK(sum.longest_wait_for_ping < 30s);
}

TEST_CASE("A-2, invariant 18: beyond the requests that may be in flight the rest is told to come again") {
    SimOptions options;
    options.scenario = Scenario::last_slot;
    options.slots = 2'000;
    options.requests_max = 100;
    const SimReport report = run_simulation(options);
    if (report.objection) FAIL(told(options));
    CHECK(report.failures.at("Server busy") == 900);
    CHECK(report.successes >= 100);
}

TEST_CASE("F-8, fault 29: when much of a region falls silent at once, the brake keeps it") {
    std::uint64_t brakes = 0;
    const std::uint64_t count = std::max<std::uint64_t>(30, seeds_to_play(30));  // not every seed silences enough
    for (std::uint64_t seed = 1; seed <= count; ++seed) {
        SimOptions options;
        options.seed = seed;
        options.scenario = Scenario::mass_silence;
        const SimReport report = run_simulation(options);
        if (report.objection) FAIL(told(options));
        brakes += report.brakes;
    }
    CHECK(brakes > 0);
}

TEST_CASE("F-8, fault 29: thousands of servers of which much falls silent at once are kept, and come back") {
    SimOptions options;
    options.scenario = Scenario::mass_silence;
    options.servers = large_fleet();
    const SimReport report = run_simulation(options);
    if (report.objection) FAIL(told(options));
    CHECK(report.brakes > 0);
}

TEST_CASE("fault 60: of a thousand requests for the last slot exactly one gets it") {
    const std::uint64_t count = seeds_to_play(10);
    for (std::uint64_t seed = 1; seed <= count; ++seed) {
        SimOptions options;
        options.seed = seed;
        options.scenario = Scenario::last_slot;
        const SimReport report = run_simulation(options);
        if (report.objection) FAIL(told(options));
        CHECK(report.lobbies_allocated == 2);  // the slot's, and the one probe after it was free again
        CHECK(report.failures.at("No servers available") == 999);
    }
}

TEST_CASE("fault 28: thousands of servers that lose their links at once are back within 10 s, and none is evicted") {
    SimOptions options;
    options.scenario = Scenario::reconnect;
    options.servers = large_fleet();
    const SimReport report = run_simulation(options);
    if (report.objection) FAIL(told(options));
    CHECK(report.servers_removed == 0);
    CHECK(report.registrations == 2 * static_cast<std::uint64_t>(large_fleet()));
    CHECK(report.longest_return <= 10s);
}

TEST_CASE("invariant 21: the same seed gives the same trace hash, and another seed another") {
    for (const Scenario scenario :
         {Scenario::calm, Scenario::mixed, Scenario::crashing, Scenario::gaps, Scenario::players}) {
        for (std::uint64_t seed = 11; seed < 20; ++seed) {
            INFO(to_string(scenario), " ", seed);
            SimOptions options;
            options.scenario = scenario;
            options.seed = seed;
            const SimReport first = run_simulation(options);
            CHECK(run_simulation(options).trace_hash == first.trace_hash);
            options.readable_trace = true;
            CHECK(run_simulation(options).trace_hash == first.trace_hash);
            options.seed = seed + 1;
            CHECK(run_simulation(options).trace_hash != first.trace_hash);
        }
    }
}

TEST_CASE("A-12: with healthy servers that take 0-4 s, allocations succeed, under 5 s at the 95th percentile") {
    SimOptions options;
    options.scenario = Scenario::calm;
    options.servers = 20;
    options.slots = 20;
    options.matchmakers = 3;
    options.asks_per_minute = 100;
    const SimReport report = run_simulation(options);
    if (report.objection) FAIL(told(options));
    CHECK(report.successes > 500);
    CHECK(report.failures.empty());
    CHECK(report.retries == 0);
    CHECK(report.allocation_p95 < 5s);
}

// As replay_command() tells it: MUSTER_SIM_SEED and MUSTER_SIM_SCENARIO name it; with MUSTER_SIM_SEEDS it is the first
// of so many.
TEST_CASE("the simulation that the environment names is played" * doctest::skip()) {
    const char* seed = std::getenv("MUSTER_SIM_SEED");
    REQUIRE(seed != nullptr);
    SimOptions options;
    options.seed = std::strtoull(seed, nullptr, 10);
    if (const char* scenario = std::getenv("MUSTER_SIM_SCENARIO")) options.scenario = scenario_named(scenario).value();
    if (const char* step = std::getenv("MUSTER_SIM_DIE_AT")) options.die_at_step = std::strtoull(step, nullptr, 10);
    if (const char* servers = std::getenv("MUSTER_SIM_SERVERS")) options.servers = std::atoi(servers);
    if (const char* matchmakers = std::getenv("MUSTER_SIM_MATCHMAKERS")) options.matchmakers = std::atoi(matchmakers);
    if (const char* players = std::getenv("MUSTER_SIM_PLAYERS")) options.players = std::atoi(players);
    if (const char* requests = std::getenv("MUSTER_SIM_REQUESTS_MAX"))
        options.requests_max = std::strtoull(requests, nullptr, 10);
    if (const char* slots = std::getenv("MUSTER_SIM_SLOTS")) options.slots = std::atoi(slots);
    if (const char* asks = std::getenv("MUSTER_SIM_ASKS")) options.asks_per_minute = std::atof(asks);
    if (const char* seconds = std::getenv("MUSTER_SIM_SECONDS"))
        options.duration = std::chrono::seconds(std::atoi(seconds));
    options.whole_trace = std::getenv("MUSTER_SIM_WHOLE_TRACE") != nullptr;
    const char* many = std::getenv("MUSTER_SIM_SEEDS");
    const std::uint64_t count = many ? std::strtoull(many, nullptr, 10) : 1;
    std::map<std::string, std::vector<std::uint64_t>> broken;
    SimReport report;
    for (std::uint64_t i = 0; i < count; ++i, ++options.seed) {
        report = run_simulation(options);
        if (!report.objection) continue;
        if (count == 1) FAIL(told(options));
        broken[report.objection->rule + ": " + report.objection->what.substr(0, 60)].push_back(options.seed);
    }
    for (const auto& [what, seeds] : broken)
        MESSAGE(fmt::format("{} seeds, such as {}: {}", seeds.size(), seeds.front(), what));
    CHECK(broken.empty());
    if (count > 1) return;
    MESSAGE(fmt::format(
        "{:.0f} s of virtual time, {} passes, {} frames sent, {} crashes, {} stops, {} registrations, {} removed;"
        " {} successes (p50 {:.3f} s, p95 {:.3f} s), {} retries, {} tokens accepted, {} refused; hash {:016x}",
        to_seconds(report.virtual_time), report.muster.passes, report.muster.frames_sent, report.muster.crashes,
        report.muster.freezes, report.registrations, report.servers_removed, report.successes,
        to_seconds(report.allocation_p50), to_seconds(report.allocation_p95), report.retries, report.tokens_accepted,
        report.tokens_refused, report.trace_hash));
    MESSAGE(fmt::format("players: {} logins, {} resumes, {} idle, {} told to come, {} sent away", report.player_logins,
                        report.player_resumes, report.player_idles, report.invited, report.sent_away));
    for (const auto& [why, times] : report.player_closes) MESSAGE(fmt::format("{} sessions ended: {}", times, why));
    for (const auto& [why, times] : report.failures) MESSAGE(fmt::format("{} times: {}", times, why));
}
