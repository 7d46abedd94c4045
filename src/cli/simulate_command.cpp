// `muster simulate`: a whole fleet under virtual time, with faults and judges, from a seed.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/progress.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"
#include "process/exit_code.h"
#include "sim/simulation.h"

namespace muster {
namespace {

struct SimulateArguments {
    std::int64_t seed = 1;
    std::int64_t seeds = 1;
    std::string scenario = "mixed";
    std::optional<double> minutes;
    std::optional<double> hours;
    std::optional<std::int64_t> servers;
    std::optional<std::int64_t> matchmakers;
    std::optional<std::int64_t> players;
    std::optional<std::int64_t> slots;
    std::optional<double> asks;
    bool trace = false;
    bool json = false;
};

[[noreturn]] void misused(const std::string& what) {
    throw CommandFailure(to_int(ExitCode::usage), what);
}

std::optional<int> count(const char* flag, const std::optional<std::int64_t>& value) {
    constexpr std::int64_t most = 100'000;
    if (!value) return std::nullopt;
    if (*value < 1 || *value > most) misused(fmt::format("{} wants a number from 1 to {}", flag, most));
    return static_cast<int>(*value);
}

// A calm fleet is a healthy one, with room for every match that is asked for. The library's own calm world is small and
// often full, which its judges need and a reader takes for a fault.
void give_room(sim::SimOptions& options) {
    if (!options.servers) options.servers = 8;
    if (!options.slots) options.slots = 20;
}

sim::SimOptions options_of(const SimulateArguments& arguments) {
    sim::SimOptions options;
    if (arguments.seed < 0) misused("--seed wants a number from 0 on");
    if (arguments.seeds < 1) misused("--seeds wants a number from 1 on");
    options.seed = static_cast<std::uint64_t>(arguments.seed);
    options.scenario = sim::scenario_named(arguments.scenario).value();  // one of the choices
    if (arguments.minutes || arguments.hours) {
        const double minutes = arguments.minutes.value_or(0) + 60 * arguments.hours.value_or(0);
        constexpr double most = 30 * 24 * 60;
        if (!(minutes > 0) || minutes > most)
            misused("--minutes and --hours want something above 0, and at most 30 days");
        options.duration = std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::ratio<60>>(minutes));
    }
    options.servers = count("--servers", arguments.servers);
    options.matchmakers = count("--matchmakers", arguments.matchmakers);
    options.players = count("--players", arguments.players);
    options.slots = count("--slots", arguments.slots);
    if (arguments.asks && !(*arguments.asks > 0 && *arguments.asks <= 1e6)) misused("--asks wants something above 0");
    options.asks_per_minute = arguments.asks;
    options.readable_trace = arguments.trace;
    if (options.scenario == sim::Scenario::calm) give_room(options);
    return options;
}

// The same run again, whatever the defaults are.
std::string replay(const sim::SimOptions& options) {
    std::string command =
        fmt::format("muster simulate --seed {} --scenario {}", options.seed, sim::to_string(options.scenario));
    if (options.duration) command += fmt::format(" --minutes {}", to_seconds(*options.duration) / 60);
    if (options.servers) command += fmt::format(" --servers {}", *options.servers);
    if (options.matchmakers) command += fmt::format(" --matchmakers {}", *options.matchmakers);
    if (options.players) command += fmt::format(" --players {}", *options.players);
    if (options.slots) command += fmt::format(" --slots {}", *options.slots);
    if (options.asks_per_minute) command += fmt::format(" --asks {}", *options.asks_per_minute);
    return command + " --trace";
}

// What many runs came to.
struct Sums {
    std::uint64_t runs = 0;
    Duration virtual_time{0};
    std::uint64_t registrations = 0;
    std::uint64_t removed = 0;
    std::uint64_t crashes = 0;
    std::uint64_t freezes = 0;
    std::uint64_t allocated = 0;
    std::uint64_t retries = 0;
    std::map<std::string, std::uint64_t> failures;
    std::uint64_t tokens_accepted = 0;
    std::uint64_t tokens_refused = 0;
    std::uint64_t logins = 0;
    std::uint64_t resumes = 0;
    std::uint64_t invited = 0;
    Duration slowest{0};
    std::uint64_t hash = 0;  // of all traces, in order

    void add(const sim::SimReport& report) {
        ++runs;
        virtual_time += report.virtual_time;
        registrations += report.registrations;
        removed += report.servers_removed;
        crashes += report.muster.crashes;
        freezes += report.muster.freezes;
        allocated += report.lobbies_allocated;
        retries += report.retries;
        for (const auto& [text, times] : report.failures) failures[text] += times;
        tokens_accepted += report.tokens_accepted;
        tokens_refused += report.tokens_refused;
        logins += report.player_logins;
        resumes += report.player_resumes;
        invited += report.invited;
        slowest = std::max(slowest, report.allocation_max);
        hash = hash * 1'099'511'628'211U ^ report.trace_hash;
    }
};

std::string failures_text(const std::map<std::string, std::uint64_t>& failures) {
    std::string text;
    for (const auto& [reason, times] : failures)
        text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", times, reason);
    return text.empty() ? "none" : text;
}

std::string summary(const Sums& sums, double seconds) {
    return described(
        {
            {"played",
             {fmt::format("{} run{}, {} of virtual time in {}", sums.runs, sums.runs == 1 ? "" : "s",
                          span_text(to_seconds(sums.virtual_time)), span_text(seconds))}},
            {"Muster", {fmt::format("killed {} times, stopped for a while {} times", sums.crashes, sums.freezes)}},
            {"servers", {fmt::format("{} registrations, {} removed", sums.registrations, sums.removed)}},
            {"allocations",
             {fmt::format("{} lobbies got a server, {} retries, the slowest after {}", sums.allocated, sums.retries,
                          span_text(to_seconds(sums.slowest)))}},
            {"refusals", {failures_text(sums.failures)}},
            {"tokens", {fmt::format("{} let in, {} rightly turned away", sums.tokens_accepted, sums.tokens_refused)}},
            {"players",
             {fmt::format("{} logins, {} sessions taken back, {} told to come to a match", sums.logins, sums.resumes,
                          sums.invited)}},
            {"trace", {fmt::format("{:016x}", sums.hash)}},
        },
        colours_wanted(), output_columns());
}

std::string summary_json(const Sums& sums, const std::optional<sim::Objection>& objection, const std::string& again) {
    JsonFields out;
    out.flag("kept", !objection);
    out.integer("runs", static_cast<std::int64_t>(sums.runs));
    out.real("virtual_seconds", to_seconds(sums.virtual_time));
    out.integer("registrations", static_cast<std::int64_t>(sums.registrations));
    out.integer("servers_removed", static_cast<std::int64_t>(sums.removed));
    out.integer("crashes", static_cast<std::int64_t>(sums.crashes));
    out.integer("allocated", static_cast<std::int64_t>(sums.allocated));
    out.integer("retries", static_cast<std::int64_t>(sums.retries));
    out.begin_object("failures");
    for (const auto& [reason, times] : sums.failures) out.integer(reason, static_cast<std::int64_t>(times));
    out.end_object();
    out.integer("player_logins", static_cast<std::int64_t>(sums.logins));
    out.integer("player_resumes", static_cast<std::int64_t>(sums.resumes));
    out.integer("players_invited", static_cast<std::int64_t>(sums.invited));
    out.text("trace", fmt::format("{:016x}", sums.hash));
    if (objection) {
        out.text("rule", objection->rule);
        out.text("what", objection->what);
        out.text("replay", again);
    }
    return out.finish();
}

void print_objection(const sim::SimReport& report, const sim::SimOptions& options) {
    const sim::Objection& objection = *report.objection;
    print_error("muster: {} is broken, after {:.3f} s: {}\n", objection.rule, to_seconds(report.virtual_time),
                safe_text(objection.what));
    for (const std::string& line : report.trace) print_error("  {}\n", safe_text(line));
    print_error("  again: {}\n", replay(options));
}

volatile std::sig_atomic_t interrupt_asked = 0;

// Ctrl-C ends the playing, not the program: what was played is told. A second one ends it at once.
class AwaitedInterrupt {
public:
    AwaitedInterrupt() {
        struct sigaction wish{};
        wish.sa_handler = [](int) { interrupt_asked = 1; };
        wish.sa_flags = static_cast<int>(SA_RESETHAND);
        sigaction(SIGINT, &wish, nullptr);
    }
    ~AwaitedInterrupt() { std::signal(SIGINT, SIG_DFL); }
    AwaitedInterrupt(const AwaitedInterrupt&) = delete;
    AwaitedInterrupt& operator=(const AwaitedInterrupt&) = delete;

    static bool asked() { return interrupt_asked != 0; }
};

// Thrown out of the run that Ctrl-C ends.
struct Interrupted {};

struct Played {
    Sums sums;
    sim::SimReport last;  // with the objection, if there is one
    bool interrupted = false;
};

std::string seed_text(const SimulateArguments& arguments, std::int64_t run) {
    std::string text = fmt::format("{}: seed {}", arguments.scenario, arguments.seed + run);
    if (arguments.seeds > 1) text += fmt::format(" ({} of {})", run + 1, arguments.seeds);
    return text;
}

// `options` are those of the last run afterwards.
Played play(const SimulateArguments& arguments, sim::SimOptions& options) {
    const AwaitedInterrupt interrupt;
    Played played;
    Progress progress(arguments.scenario);
    std::int64_t run = 0;
    options.on_progress = [&](double share) {
        if (interrupt.asked()) throw Interrupted();
        progress.share((static_cast<double>(run) + share) / static_cast<double>(arguments.seeds));
    };
    try {
        for (; run < arguments.seeds && !played.last.objection; ++run) {
            options.seed = static_cast<std::uint64_t>(arguments.seed + run);
            progress.now(seed_text(arguments, run));
            options.on_progress(0);
            played.last = sim::run_simulation(options);
            played.sums.add(played.last);
        }
    } catch (const Interrupted&) {
        played.interrupted = true;
    }
    options.on_progress = {};
    return played;
}

// As a shell expects it of a program that Ctrl-C ended.
[[noreturn]] void end_interrupted(const Sums& sums, const SimulateArguments& arguments) {
    print_error("muster: Ctrl-C, after {} of {} seed{}\n", sums.runs, arguments.seeds, arguments.seeds == 1 ? "" : "s");
    std::fflush(nullptr);
    std::raise(SIGINT);
    throw CommandFailure(exit_failed, "Ctrl-C does not end it");  // SIGINT is blocked or ignored
}

int simulate(const SimulateArguments& arguments) {
    sim::SimOptions options = options_of(arguments);
    const auto began = std::chrono::steady_clock::now();
    const Played played = play(arguments, options);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    const auto& objection = played.last.objection;
    if (played.interrupted && played.sums.runs == 0) end_interrupted(played.sums, arguments);
    const int printed = arguments.json ? print_json(summary_json(played.sums, objection, replay(options)))
                                       : to_int(print_result(summary(played.sums, seconds)));
    if (objection) {
        print_objection(played.last, options);
        return exit_failed;
    }
    if (played.interrupted) end_interrupted(played.sums, arguments);
    return printed;
}

const char* what_happens(sim::Scenario scenario) {
    using enum sim::Scenario;
    switch (scenario) {
        case calm:
            return "no faults: 8 healthy servers with 20 slots each";
        case lossy:
            return "slow, cut and half-open links; servers come and go";
        case slow_disk:
            return "the disk takes up to 40 s to write";
        case full_disk:
            return "the disk fills up repeatedly";
        case crashing:
            return "Muster is killed and restarted";
        case gaps:
            return "Muster is suspended; the date is changed";
        case mixed:
            return "all of these";
        case mass_silence:
            return "a large part of a region falls silent at once";
        case last_slot:
            return "a thousand requests for one slot";
        case reconnect:
            return "a whole large fleet loses its links at once";
        case players:
            return "players misbehave in every known way";
        case churn:
            return "connections come and go, in reused slots";
        case backlog:
            return "matchmakers come back to many unread events";
        case starved:
            return "Muster takes long for each message";
        case dates:
            return "the date is days ahead for a while, over restarts";
    }
    return "";
}

std::string notes() {
    std::string text =
        "Each scenario has its own defaults. Exit code 1 means that a rule of the specification "
        "was\n"
        "broken; the output then has the command that repeats that run. Ctrl-C stops with a summary of the seeds run "
        "so "
        "far.\n\n"
        "Scenarios:\n";
    for (const sim::Scenario each : sim::scenarios)
        text += fmt::format("  {:<12}  {}\n", sim::to_string(each), what_happens(each));
    return text;
}

}  // namespace

Command simulate_command() {
    const auto arguments = std::make_shared<SimulateArguments>();
    CommandOption scenario{"--scenario", "NAME", "Which faults occur", &arguments->scenario};
    for (const sim::Scenario each : sim::scenarios) scenario.choices.emplace_back(sim::to_string(each));
    return {"simulate",
            "Simulate a fleet with faults under virtual time and check every rule",
            {{"--seed", "N", "Random seed, for a repeatable run", &arguments->seed},
             {"--seeds", "N", "Number of seeds to run, starting at --seed", &arguments->seeds},
             scenario,
             {"--minutes", "N", "Duration of the faults, in virtual minutes", &arguments->minutes},
             {"--hours", "N", "Duration in virtual hours", &arguments->hours},
             {"--servers", "N", "Number of game servers", &arguments->servers},
             {"--matchmakers", "N", "Number of matchmakers", &arguments->matchmakers},
             {"--players", "N", "Number of players", &arguments->players},
             {"--slots", "N", "Matches per server", &arguments->slots},
             {"--asks", "N", "Requests per minute of each matchmaker", &arguments->asks},
             {"--trace", "", "On a violation, print the events that led to it", &arguments->trace},
             json_option(arguments->json)},
            notes(),
            [arguments] { return simulate(*arguments); }};
}

}  // namespace muster
