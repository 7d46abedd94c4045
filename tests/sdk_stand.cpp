// Plays the agent for tests of the SDK servers: sessions with real ports, told what to do on standard input.
//
//   sdk_stand agones|gsdk COUNT
//
// Prints one line of JSON for each process, its environment. Then reads commands, one a line, and answers each with one
// line: `offer N LOBBY TOKEN`, `abort N LOBBY REASON`, `stop N`, `facts N` (a list of what was said), `usage`.
#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "agones/grpc_door.h"
#include "agones/side.h"
#include "base/entropy.h"
#include "base/json_fields.h"
#include "base/no_log.h"
#include "base/system_clock.h"
#include "gsdk/side.h"

namespace {

using namespace muster;

std::string_view name_of(SdkFact::Kind kind) {
    switch (kind) {
        case SdkFact::Kind::ready:
            return "ready";
        case SdkFact::Kind::accepted:
            return "accepted";
        case SdkFact::Kind::match_ready:
            return "match_ready";
        case SdkFact::Kind::match_ended:
            return "match_ended";
        case SdkFact::Kind::allocated_itself:
            return "allocated_itself";
        case SdkFact::Kind::reserved:
            return "reserved";
        case SdkFact::Kind::out_of_reach:
            return "out_of_reach";
        case SdkFact::Kind::in_reach:
            return "in_reach";
        case SdkFact::Kind::to_be_replaced:
            return "to_be_replaced";
        case SdkFact::Kind::unhealthy:
            return "unhealthy";
        case SdkFact::Kind::shutdown:
            return "shutdown";
    }
    return "";
}

agones::Process agones_process(int number) {
    agones::Process process;
    process.name = fmt::format("stand-game-{}", number);
    process.fleet = "game";
    process.address = "127.0.0.1";
    process.port = static_cast<std::uint16_t>(7000 + number);
    process.health_period = std::chrono::seconds(60);
    process.player_tracking = number == 1;
    process.counters["rooms"] = {1, 10};
    process.lists["players"] = {3, {"first"}};
    return process;
}

void print(const std::vector<EnvironmentEntry>& environment) {
    JsonFields line;
    for (const auto& each : environment) line.text(each.name, each.value);
    std::cout << line.finish() << std::endl;
}

void print(const std::vector<SdkFact>& facts) {
    JsonFields line;
    line.begin_list("facts");
    for (const SdkFact& fact : facts)
        line.text("", fmt::format("{} {} {}", name_of(fact.kind), fact.lobby.value, fact.reason));
    line.end_list();
    std::cout << line.finish() << std::endl;
}

void print_usage() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    long all = 0;
    long pages = 0;
    std::ifstream("/proc/self/statm") >> all >> pages;
    JsonFields line;
    line.integer("rss_kib", pages * 4);
    line.integer("cpu_ms", (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
                               (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000);
    std::cout << line.finish() << std::endl;
}

void run(std::vector<std::unique_ptr<SdkSide>>& sides, const Clock& clock) {
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string command;
        std::size_t number = 0;
        std::int32_t lobby = 0;
        std::string text;
        words >> command >> number >> lobby >> text;
        if (command == "usage") {
            print_usage();
            continue;
        }
        if (number >= sides.size()) {
            std::cout << "{\"error\":\"no such process\"}" << std::endl;
            continue;
        }
        SdkSide& side = *sides[number];
        if (command == "offer") side.offer(clock.now(), {LobbyId{lobby}, 1, 2, text});
        if (command == "abort") side.abort(clock.now(), LobbyId{lobby}, text);
        if (command == "stop") side.stop(clock.now());
        if (command == "facts")
            print(side.take_facts(clock.now()));
        else
            std::cout << "{}" << std::endl;
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 64;
    const std::string kind = argv[1];
    const int count = std::stoi(argv[2]);
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    SystemClock clock;
    NoLog sink;
    Log log(clock, sink);
    SystemEntropy entropy;
    LoopbackServer loopback(clock, log);
    const auto door = agones::load_grpc_door();
    if (!door) {
        std::cerr << door.error() << std::endl;
        return 1;
    }
    const std::string folder = std::filesystem::temp_directory_path().string();
    std::vector<std::unique_ptr<SdkSide>> sides;
    for (int i = 0; i < count; ++i) {
        if (kind == "agones")
            sides.push_back(std::make_unique<agones::Side>(
                agones_process(i), agones::Services{loopback, *door, clock, entropy, log, [] {}}));
        else
            sides.push_back(
                std::make_unique<gsdk::Side>(gsdk::Process{},
                                             gsdk::Place{"stand", "game", fmt::format("stand-{}-{}", getpid(), i), "0",
                                                         "127.0.0.1", 7000, i, folder, folder},
                                             gsdk::Services{loopback, clock, entropy, log, [] {}}));
        print(sides.back()->begin_life(clock.now(), "life"));
    }
    run(sides, clock);
    for (const auto& side : sides) side->end_life(clock.now());
    return 0;
}
