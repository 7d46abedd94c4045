// `muster bench`: the comparisons of bench/compare, and the yardsticks of bench/ by themselves.
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/json_fields.h"
#include "cli/child_process.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/progress.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"
#include "process/exit_code.h"

namespace muster {
namespace {

struct Yardstick {
    const char* name;
    const char* measures;
};

// One program each, to be run by itself.
constexpr std::array yardsticks{
    Yardstick{"frames_bench", "server CPU for a frame in, through the loop, and out; beside a bare epoll server"},
    Yardstick{"timers_bench", "schedule, cancel and fire with up to a million timers; beside libuv and libev"},
    Yardstick{"idle_bench", "what an idle loop costs, and how fast it wakes"},
    Yardstick{"sessions_bench", "a million players without sockets"},
    Yardstick{"fleet_bench", "a hundred thousand game servers without sockets"},
    Yardstick{"store_bench", "commits and rows a second; beside a bare SQLite loop"},
    Yardstick{"fleet_load", "the real daemon under a whole fleet; beside a bare allocator"},
    Yardstick{"link_load", "heartbeats and idle links of a server that runs already"},
    Yardstick{"api_load", "what readers of the HTTP API cost the fleet; beside a bare server"},
    Yardstick{"player_load", "the real daemon with many players"},
    Yardstick{"tls_load", "what TLS costs: heartbeats and memory beside plain links, handshakes beside bare OpenSSL"},
};

constexpr const char* how_to_get_them =
    "`apt install muster-bench` brings them; from the source: cmake --preset release && ninja -C build/release, then "
    "build/release/muster bench";

struct BenchArguments {
    std::string name;               // of a workload or of a program; empty: all workloads
    std::vector<std::string> more;  // further workloads, or arguments of the program
    std::optional<std::int64_t> rounds;
    std::optional<std::string> output;
    bool append = false;
    bool quick = false;
    bool few = false;
    bool list = false;
    bool json = false;
};

// Of a build folder, or of the package.
std::filesystem::path path_of(std::string_view program) {
    const auto here = std::filesystem::path(own_path()).parent_path();
    for (const auto& folder : {here / "bench", here.parent_path() / "lib" / "muster" / "bench"}) {
        if (access((folder / program).c_str(), X_OK) == 0) return folder / program;
    }
    return {};
}

int print_all(bool json) {
    JsonFields out;
    out.begin_list("yardsticks");
    TextTable table({{"NAME"}, {"BUILT"}, {"MEASURES"}});
    bool some_missing = false;
    for (const Yardstick& each : yardsticks) {
        const bool built = !path_of(each.name).empty();
        some_missing = some_missing || !built;
        out.begin_object({});
        out.text("name", each.name);
        out.flag("built", built);
        out.text("measures", each.measures);
        out.end_object();
        table.add({{each.name}, {built ? "yes" : "no", built ? Style::green : Style::dim}, {each.measures}});
    }
    out.end_list();
    if (json) return print_json(out.finish());
    const int printed = to_int(print_result(table.to_text(colours_wanted())));
    if (some_missing) print_error("not all are here: {}\n", how_to_get_them);
    return printed;
}

// What it prints goes on to standard output as it comes, above the line of progress.
int run_alone(const std::filesystem::path& program, const std::vector<std::string>& more) {
    Progress progress(program.filename().string());
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw CommandFailure(to_int(ExitCode::internal), "cannot open a pipe");
    std::vector<std::string> command{program.string()};
    command.insert(command.end(), more.begin(), more.end());
    ChildProcess child({.command = command, .output = ends[1]});
    close(ends[1]);
    std::array<char, 4096> piece{};
    for (ssize_t size = 0; (size = read(ends[0], piece.data(), piece.size())) > 0;) {
        progress.aside([&] { print_result({piece.data(), static_cast<std::size_t>(size)}); });
    }
    close(ends[0]);
    const int code = child.wait();
    if (code != 0)
        progress.aside([&] { print_error("muster: {} ended with {}\n", program.filename().string(), code); });
    return code == 0 ? 0 : exit_failed;
}

// The comparisons have the terminal to themselves: they show their own progress.
int compare(const BenchArguments& arguments) {
    const std::filesystem::path program = path_of("compare");
    if (program.empty())
        throw CommandFailure(exit_failed,
                             fmt::format("no benchmarks beside {}: {}", safe_text(own_path()), how_to_get_them));
    std::vector<std::string> command{program.string(), "--muster", own_path()};
    if (!arguments.name.empty()) command.push_back(arguments.name);
    command.insert(command.end(), arguments.more.begin(), arguments.more.end());
    if (arguments.rounds) command.insert(command.end(), {"--rounds", fmt::to_string(*arguments.rounds)});
    if (arguments.output) command.insert(command.end(), {"--output", *arguments.output});
    if (arguments.append) command.emplace_back("--append");
    if (arguments.quick) command.emplace_back("--quick");
    if (arguments.few) command.emplace_back("--few");
    if (arguments.json) command.emplace_back("--json");
    return ChildProcess({.command = command}).wait();
}

int bench(const BenchArguments& arguments) {
    if (arguments.list) return print_all(arguments.json);
    const auto is_it = [&](const Yardstick& each) { return arguments.name == each.name; };
    if (std::none_of(yardsticks.begin(), yardsticks.end(), is_it)) return compare(arguments);
    const std::filesystem::path program = path_of(arguments.name);
    if (program.empty())
        throw CommandFailure(
            exit_failed, fmt::format("no {} beside {}: {}", arguments.name, safe_text(own_path()), how_to_get_them));
    return run_alone(program, arguments.more);
}

}  // namespace

Command bench_command() {
    const auto arguments = std::make_shared<BenchArguments>();
    CommandOption name{"WORKLOAD", "", "This workload only; or one of the programs that --list names",
                       &arguments->name};
    CommandOption more{"MORE", "WORKLOAD… | -- ARGUMENT…", "Further workloads; or arguments of the program, after --",
                       &arguments->more};
    CommandOption output{"--output", "FOLDER", "Write BENCHMARKS.md and bench/ (pictures, JSON) into this folder",
                         &arguments->output};
    output.is_file = true;
    CommandOption list{"--list", "", "List the programs instead", &arguments->list};
    list.excludes = {"WORKLOAD"};
    return {
        "bench",
        "Measure Muster, compared with other programs",
        {name,
         more,
         {"--quick", "", "One round of each, for a rough idea within minutes", &arguments->quick},
         {"--rounds", "N", "Rounds of each comparison (default 5)", &arguments->rounds},
         output,
         {"--append", "", "Add rounds to those in --output", &arguments->append},
         list,
         json_option(arguments->json),
         {"--few", "", "Tiny sizes: tests that everything runs, measures nothing", &arguments->few}},
        "Workloads: allocations capacity overload late_acks shares heartbeats open_loop in_flight instructions memory\n"
        "link_counts fleet_sizes timers starts sessions history tls postgres failovers. The programs that are\n"
        "compared take turns. A round that was disturbed by other work on this machine is repeated. A program that\n"
        "is not installed (Redis, PostgreSQL) is left out, and the output says what to install.\n\n"
        "  muster bench --quick\n  muster bench --output docs\n  muster bench capacity overload --rounds 3\n"
        "  muster bench fleet_load -- --servers 100 --rate 500\n",
        [arguments] { return bench(*arguments); }};
}

}  // namespace muster
