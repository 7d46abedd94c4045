// First yardstick: what a frame in, through the game loop, and a frame out costs the server, beside a bare epoll server
// of the same bytes (bench/limits/bare_epoll.cpp). 20-byte heartbeats in, 13-byte acks out, over loopback; each server
// runs on one core and the load on another, in interleaved rounds.
//
//   frames_bench [--quick] [--links 50,1000,10000] [--rounds N] [--measure-ms N] [--instructions] [--require 1.3]
//
// Prints the median of each server's CPU time a request, and its ratio to the bare server in the same round. With
// --instructions also the user instructions a request, counted by callgrind. With --require the exit code is 1 when
// Muster (threads=1) exceeds that ratio at any size.
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "frames_load.h"

namespace {

using muster::bench::FramesLoad;
using namespace std::chrono_literals;

struct Options {
    std::vector<std::size_t> links{50, 1'000, 10'000};
    int rounds = 5;
    std::chrono::milliseconds warm_up{200};
    std::chrono::milliseconds measure{800};
    bool with_asio = true;
    bool instructions = false;
    std::optional<double> require;
};

struct Contender {
    std::string name;
    std::vector<std::string> command;
};

constexpr std::size_t bare = 0;
constexpr std::size_t muster_threads_1 = 1;

void pin_to_core(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
}

// A server process on its own core, ended by its pid.
class Server {
public:
    Server(const std::vector<std::string>& command, int core) {
        std::array<int, 2> out{};
        if (pipe2(out.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
        pid_ = fork();
        if (pid_ < 0) throw std::runtime_error("fork");
        if (pid_ == 0) {
            pin_to_core(core);
            dup2(out[1], STDOUT_FILENO);
            std::vector<char*> arguments;
            for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
            arguments.push_back(nullptr);
            execvp(arguments[0], arguments.data());
            std::perror(arguments[0]);
            _exit(127);
        }
        close(out[1]);
        std::FILE* said = fdopen(out[0], "r");
        int port = 0;
        const bool told = std::fscanf(said, "PORT %d", &port) == 1;
        std::fclose(said);
        if (!told) throw std::runtime_error(command[0] + " did not start");
        port_ = static_cast<std::uint16_t>(port);
    }
    ~Server() { end(); }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    std::uint16_t port() const { return port_; }
    pid_t pid() const { return pid_; }

    // CPU time of all its threads so far, kernel and user.
    std::chrono::nanoseconds cpu() const {
        clockid_t clock{};
        timespec used{};
        if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &used) != 0)
            throw std::runtime_error("the server is gone");
        return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
    }

    void end() {
        if (pid_ <= 0) return;
        kill(pid_, SIGTERM);
        constexpr int patience = 500;
        for (int i = 0; i < patience && waitpid(pid_, nullptr, WNOHANG) == 0; ++i) {
            usleep(10'000);
            if (i + 1 == patience) {
                kill(pid_, SIGKILL);
                waitpid(pid_, nullptr, 0);
            }
        }
        pid_ = 0;
    }

private:
    pid_t pid_ = 0;
    std::uint16_t port_ = 0;
};

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double microseconds_a_request(const Contender& contender, std::size_t links, const Options& options) {
    Server server(contender.command, 0);
    FramesLoad load(server.port(), links);
    load.run(options.warm_up);
    const auto before = server.cpu();
    const std::uint64_t answers = load.run(options.measure);
    const auto after = server.cpu();
    return std::chrono::duration<double, std::micro>(after - before).count() / static_cast<double>(answers);
}

std::uint64_t instructions_of(const Contender& contender, std::size_t links, std::uint64_t requests) {
    const auto report =
        std::filesystem::temp_directory_path() / ("frames_bench." + std::to_string(getpid()) + ".callgrind");
    std::vector<std::string> command{"valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=" + report.string()};
    command.insert(command.end(), contender.command.begin(), contender.command.end());
    {
        Server server(command, 0);
        FramesLoad load(server.port(), links);
        load.run_requests(requests);
    }
    std::ifstream in(report);
    std::uint64_t total = 0;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("totals: ") || line.starts_with("summary: "))
            total = std::max<std::uint64_t>(total, std::stoull(line.substr(line.find(' ') + 1)));
    }
    std::filesystem::remove(report);
    if (total == 0) throw std::runtime_error("callgrind reported nothing: is valgrind installed?");
    return total;
}

// Two runs, so that start-up and connecting cancel out.
double instructions_a_request(const Contender& contender, std::size_t links) {
    constexpr std::uint64_t few = 5'000;
    constexpr std::uint64_t many = 45'000;
    const std::uint64_t first = instructions_of(contender, links, few);
    const std::uint64_t second = instructions_of(contender, links, many);
    return (static_cast<double>(second) - static_cast<double>(first)) / static_cast<double>(many - few);
}

std::vector<Contender> contenders(const std::filesystem::path& folder, const Options& options) {
    std::vector<Contender> all{
        {"bare epoll", {folder / "bare_epoll"}},
        {"muster threads=1", {folder / "frames_server", "--threads", "1"}},
        {"muster threads=0", {folder / "frames_server", "--threads", "0"}},
    };
    if (options.with_asio) all.push_back({"Boost.Asio", {folder / "asio_server"}});
    return all;
}

// Returns the worst ratio of Muster to the bare server.
double run_rounds(const std::vector<Contender>& all, const Options& options) {
    double worst = 0;
    std::printf("server CPU a request, median of %d interleaved rounds of %lld ms; ratio to bare epoll\n",
                options.rounds, static_cast<long long>(options.measure.count()));
    for (const std::size_t links : options.links) {
        std::vector<std::vector<double>> costs(all.size());
        std::vector<std::vector<double>> ratios(all.size());
        for (int round = 0; round < options.rounds; ++round) {
            for (std::size_t i = 0; i < all.size(); ++i) {
                costs[i].push_back(microseconds_a_request(all[i], links, options));
                ratios[i].push_back(costs[i].back() / costs[bare].back());
            }
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            std::printf("%6zu links  %-18s %6.2f us  %5.2f x\n", links, all[i].name.c_str(), median(costs[i]),
                        median(ratios[i]));
        }
        std::fflush(stdout);
        worst = std::max(worst, median(ratios[muster_threads_1]));
    }
    return worst;
}

void count_instructions(const std::vector<Contender>& all, const Options& options) {
    std::printf("user instructions a request (callgrind)\n");
    for (const std::size_t links : options.links) {
        for (const Contender& contender : all) {
            std::printf("%6zu links  %-18s %6.0f\n", links, contender.name.c_str(),
                        instructions_a_request(contender, links));
            std::fflush(stdout);
        }
    }
}

int usage() {
    std::fprintf(stderr,
                 "usage: frames_bench [--quick] [--links 50,1000,10000] [--rounds N] [--measure-ms N] [--no-asio]\n"
                 "                    [--instructions] [--require RATIO]\n");
    return 64;
}

std::optional<Options> parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view flag = argv[i];
        const bool has_value = i + 1 < argc;
        if (flag == "--quick") {
            options.rounds = 3;
            options.warm_up = 100ms;
            options.measure = 300ms;
            options.with_asio = false;
        } else if (flag == "--no-asio") {
            options.with_asio = false;
        } else if (flag == "--instructions") {
            options.instructions = true;
        } else if (flag == "--links" && has_value) {
            options.links.clear();
            std::stringstream list(argv[++i]);
            for (std::string size; std::getline(list, size, ',');) options.links.push_back(std::stoul(size));
        } else if (flag == "--rounds" && has_value) {
            options.rounds = std::stoi(argv[++i]);
        } else if (flag == "--measure-ms" && has_value) {
            options.measure = std::chrono::milliseconds(std::stoi(argv[++i]));
        } else if (flag == "--require" && has_value) {
            options.require = std::stod(argv[++i]);
        } else {
            return std::nullopt;
        }
    }
    if (options.links.empty() || options.rounds < 1) return std::nullopt;
    return options;
}

}  // namespace

int main(int argc, char** argv) try {
    const auto options = parse(argc, argv);
    if (!options) return usage();
    muster::bench::raise_file_limit(*std::max_element(options->links.begin(), options->links.end()));
    // The load takes the last core, the servers the first.
    pin_to_core(static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)) - 1));
    const auto all = contenders(std::filesystem::canonical("/proc/self/exe").parent_path(), *options);
    const double worst = run_rounds(all, *options);
    if (options->instructions) count_instructions(all, *options);
    if (options->require && worst > *options->require) {
        std::printf("Muster took %.2f x the bare server's CPU; %.2f x is the most allowed\n", worst, *options->require);
        return 1;
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "frames_bench: %s\n", error.what());
    return 1;
}
