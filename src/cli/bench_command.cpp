// `muster bench`: the yardsticks of bench/, listed and run.
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
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
    const char* folder = "bench";  // of the build folder
};

constexpr std::array yardsticks{
    Yardstick{"compare", "all comparisons in turns, with Redis if it is there: table, JSON, pictures, BENCHMARKS.md"},
    Yardstick{"frames_bench", "server CPU for a frame in, through the loop, and out; beside a bare epoll server"},
    Yardstick{"timers_bench", "schedule, cancel and fire with up to a million timers; beside libuv and libev"},
    Yardstick{"idle_bench", "what an idle loop costs, and how fast it wakes"},
    Yardstick{"sessions_bench", "a million players without sockets"},
    Yardstick{"store_bench", "commits and rows a second; beside a bare SQLite loop", "src/store"},
    Yardstick{"fleet_load", "the real daemon under a whole fleet; beside a bare allocator"},
    Yardstick{"api_load", "what readers of the HTTP API cost the fleet; beside a bare server"},
    Yardstick{"player_load", "the real daemon with many players"},
    Yardstick{"tls_load", "what TLS costs: heartbeats and memory beside plain links, handshakes beside bare OpenSSL"},
};

constexpr const char* how_to_build =
    "from the source: cmake --preset release && ninja -C build/release, then build/release/muster bench NAME";

struct Arguments {
    std::string name;
    std::vector<std::string> more;
    bool all = false;
    bool json = false;
};

std::filesystem::path path_of(const Yardstick& yardstick) {
    return std::filesystem::path(own_path()).parent_path() / yardstick.folder / yardstick.name;
}

bool is_built(const Yardstick& yardstick) {
    return access(path_of(yardstick).c_str(), X_OK) == 0;
}

int print_all(bool json) {
    JsonFields out;
    out.begin_list("yardsticks");
    TextTable table({{"NAME"}, {"BUILT"}, {"MEASURES"}});
    bool some_missing = false;
    for (const Yardstick& each : yardsticks) {
        const bool built = is_built(each);
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
    if (some_missing) print_error("to build them, {}\n", how_to_build);
    return printed;
}

// What it prints goes on to standard output as it comes, above the line of progress.
int run(const Yardstick& yardstick, const std::vector<std::string>& more, Progress& progress) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw CommandFailure(to_int(ExitCode::internal), "cannot open a pipe");
    std::vector<std::string> command{path_of(yardstick).string()};
    command.insert(command.end(), more.begin(), more.end());
    ChildProcess child({.command = command, .output = ends[1]});
    close(ends[1]);
    std::array<char, 4096> piece{};
    for (ssize_t size = 0; (size = read(ends[0], piece.data(), piece.size())) > 0;) {
        progress.aside([&] { print_result({piece.data(), static_cast<std::size_t>(size)}); });
    }
    close(ends[0]);
    return child.wait();
}

int run_some(const std::vector<const Yardstick*>& wanted, const std::vector<std::string>& more) {
    int worst = 0;
    Progress progress("starting");
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted.size() > 1) {
            progress.share(static_cast<double>(i) / static_cast<double>(wanted.size()));
            progress.aside([&] { print_result(fmt::format("== {} ==\n", wanted[i]->name)); });
        }
        progress.now(wanted[i]->name);
        if (const int code = run(*wanted[i], more, progress); code != 0) {
            progress.aside([&] { print_error("muster: {} ended with {}\n", wanted[i]->name, code); });
            worst = exit_failed;
        }
    }
    return worst;
}

int bench(const Arguments& arguments) {
    if (arguments.name.empty() && !arguments.all) return print_all(arguments.json);
    std::vector<const Yardstick*> wanted;
    for (const Yardstick& each : yardsticks) {
        if (arguments.all ? is_built(each) && each.name != std::string_view("compare") : arguments.name == each.name)
            wanted.push_back(&each);
    }
    if (wanted.empty() || !is_built(*wanted.front()))
        throw CommandFailure(exit_failed, fmt::format("not built beside {}; {}", safe_text(own_path()), how_to_build));
    return run_some(wanted, arguments.more);
}

}  // namespace

Command bench_command() {
    const auto arguments = std::make_shared<Arguments>();
    CommandOption name{"NAME", "", "Benchmark to run; omit it to list them", &arguments->name};
    for (const Yardstick& each : yardsticks) name.choices.emplace_back(each.name);
    CommandOption all{"--all", "", "Run every benchmark that is built", &arguments->all};
    all.excludes = {"NAME"};
    return {"bench",
            "List the benchmarks, or run one",
            {name,
             {"ARGUMENTS", "-- ARGUMENT…", "Arguments for the benchmark, after --", &arguments->more},
             all,
             json_option(arguments->json)},
            "  muster bench compare -- --output docs\n  muster bench timers_bench\n  muster bench fleet_load -- "
            "--servers 100 --seconds 5\n",
            [arguments] { return bench(*arguments); }};
}

}  // namespace muster
