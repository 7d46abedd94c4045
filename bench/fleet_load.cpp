// Third yardstick: the real daemon under a whole fleet, and all of the fleet coming back at once (fault 28).
//
//   fleet_load [--servers N] [--matchmakers N] [--allocations N] [--ack MS] [--match MS] [--rate N] [--capacity N]
//              [--reconnect links|restart [--tls]] [--even] [--no-bare | --only-bare] [--json] [--check]
//              [--store-url URL] [--keep FILE] [--muster PATH] [--folder PATH] [--seed N]
//
// Starts `muster serve` on free ports with a store of its own, registers the game servers and the matchmakers, and
// asks for matches at a steady rate. Each game server acknowledges after 0 to --ack ms, is ready, starts, ends after
// --match ms (keeps it until all were answered, when that is negative), and heartbeats all the while. The same peers
// then do the same to a bare server (bench/limits/bare_allocator.cpp), and the ratio of the two servers' CPU is
// printed. With --json each server's figures are one JSON object a line instead. With --store-url Muster's store is in
// that PostgreSQL; with --keep its file is moved there at the end.
//
// With --reconnect no match is asked for: all links are cut, or the daemon is restarted, and every server must come
// back as the one it was; with --tls over mutual TLS, where all have to come back by their tickets. With
// --check the exit code is 1 when a target of A-12 or fault 28 is missed, where a busy machine may take twice as long
// for a return as it took for the first registration, but never more of the daemon's CPU than makes 10 s for 10,000
// servers; the shares of the servers are judged with --even.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "frames_load.h"
#include "load_certificates.h"
#include "load_fleet.h"
#include "served_process.h"

namespace {

using namespace muster::bench;
using namespace std::chrono_literals;

// A-12 and fault 28.
constexpr double p95_seconds_max = 5;
constexpr double success_least = 0.995;
constexpr double retries_max = 0.01;
constexpr double share_spread_max = 0.10;
constexpr double reconnect_seconds_max = 10;
// What the return of one server may cost the daemon: 10,000 are back in those seconds if it has one core.
constexpr double reconnect_cpu_us_max = 1'000;

enum class Reconnect : std::uint8_t { no, links, restart };

struct Options {
    LoadOptions load;
    Reconnect reconnect = Reconnect::no;
    bool tls = false;
    bool even = false;
    bool bare = true;
    bool only_bare = false;
    bool json = false;
    bool check = false;
    std::string store_url;
    std::filesystem::path keep;
    std::filesystem::path muster;
    std::filesystem::path folder = std::filesystem::temp_directory_path();
};

struct Run {
    LoadFigures figures;
    std::chrono::duration<double, std::micro> cpu{0};
    std::size_t peak_bytes = 0;

    double cpu_us_each() const { return cpu.count() / static_cast<double>(std::max<std::uint64_t>(1, figures.asked)); }
};

double part(std::uint64_t some, std::uint64_t all) {
    return all == 0 ? 0 : static_cast<double>(some) / static_cast<double>(all);
}

double at_percentile(std::vector<double> values, double percentile) {
    if (values.empty()) return 0;
    const auto last = static_cast<double>(values.size() - 1);
    const auto at = static_cast<std::ptrdiff_t>(std::llround(last * percentile / 100));
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
}

struct Shares {
    double mean = 0;
    double least = 0;
    double most = 0;
    double deviation = 0;
    double within = 0;  // part of the servers that are no farther from the mean than A-12 allows
};

Shares shares_of(const std::vector<std::uint32_t>& counts) {
    Shares shares;
    const auto servers = static_cast<double>(counts.size());
    shares.mean = std::accumulate(counts.begin(), counts.end(), 0.0) / servers;
    shares.least = *std::min_element(counts.begin(), counts.end());
    shares.most = *std::max_element(counts.begin(), counts.end());
    double squares = 0;
    std::uint64_t within = 0;
    for (const std::uint32_t count : counts) {
        const double off = count - shares.mean;
        squares += off * off;
        if (std::abs(off) <= share_spread_max * shares.mean) ++within;
    }
    shares.deviation = std::sqrt(squares / servers);
    shares.within = part(within, counts.size());
    return shares;
}

// One line that is written over, for a person who waits.
class Progress {
public:
    explicit Progress(std::string what) : what_(std::move(what)), shown_(isatty(STDERR_FILENO) == 1) {}
    ~Progress() {
        if (shown_) std::fprintf(stderr, "\r\033[K");
    }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void show(const LoadFigures& figures, std::size_t wanted) const {
        if (!shown_) return;
        std::fprintf(stderr, "\r\033[K%s: %llu of %zu asked, %llu answered, %llu played, %llu failed", what_.c_str(),
                     static_cast<unsigned long long>(figures.asked), wanted,
                     static_cast<unsigned long long>(figures.answered), static_cast<unsigned long long>(figures.ended),
                     static_cast<unsigned long long>(figures.answered - figures.succeeded));
    }

private:
    std::string what_;
    bool shown_;
};

std::map<std::string, std::string> muster_environment(const Options& options, const std::filesystem::path& folder) {
    // All peers come from one address.
    const std::size_t links = options.load.servers + options.load.matchmakers + 100;
    std::map<std::string, std::string> all{
        {"MUSTER_STORE_PATH", (folder / "muster.db").string()},
        {"MUSTER_LIMITS_CONNECTIONS_PER_IP", std::to_string(links)},
        {"MUSTER_LIMITS_ACCEPTS_PER_SECOND_IP", std::to_string(links)},
        {"MUSTER_LOG_LEVEL", "warning"},
    };
    if (!options.store_url.empty()) {
        all.erase("MUSTER_STORE_PATH");
        all["MUSTER_STORE_URL"] = options.store_url;
        all["MUSTER_CLUSTER_LISTEN"] = "127.0.0.1:0";
    }
    for (const char* port : {"SERVERS", "MATCHMAKERS", "PLAYERS", "HTTP"})
        all["MUSTER_LISTEN_" + std::string(port)] = "127.0.0.1:0";
    return all;
}

// CPU of this process.
double process_seconds() {
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

LoadFleet::Ports ports_of(const ServedProcess& process) {
    return {process.port("servers"), process.port("matchmakers")};
}

Run allocate(const std::string& name, ServedProcess& process, const LoadOptions& load) {
    LoadFleet fleet(load);
    fleet.register_all(ports_of(process));
    fleet.heartbeat_all();  // from here on all have the same figures
    const Progress progress(name);
    const auto before = process.cpu();
    fleet.allocate([&](const LoadFigures& figures) { progress.show(figures, load.allocations); });
    return {fleet.figures(), process.cpu() - before, process.peak_bytes()};
}

void print_json(const char* name, const Run& run) {
    const LoadFigures& figures = run.figures;
    const auto ms = [](const std::vector<double>& seconds, double percentile) {
        return 1'000 * at_percentile(seconds, percentile);
    };
    const Shares shares = shares_of(figures.per_server);
    std::printf(
        "{\"server\":\"%s\",\"asked\":%llu,\"succeeded\":%llu,\"refused\":%zu,\"seconds\":%.3f,\"p50_ms\":%.3f,"
        "\"p95_ms\":%.3f,\"p99_ms\":%.3f,\"refusal_p99_ms\":%.3f,\"cpu_us\":%.2f,\"peak_bytes\":%zu,"
        "\"share_mean\":%.2f,\"share_least\":%.0f,\"share_most\":%.0f}\n",
        name, static_cast<unsigned long long>(figures.asked), static_cast<unsigned long long>(figures.succeeded),
        figures.refusal_seconds.size(), figures.asking.count(), ms(figures.answer_seconds, 50),
        ms(figures.answer_seconds, 95), ms(figures.answer_seconds, 99), ms(figures.refusal_seconds, 99),
        run.cpu_us_each(), run.peak_bytes, shares.mean, shares.least, shares.most);
    std::fflush(stdout);
}

void print(const char* name, const Run& run) {
    const LoadFigures& figures = run.figures;
    const auto ms = [&](double percentile) { return 1'000 * at_percentile(figures.answer_seconds, percentile); };
    const auto count = [](std::uint64_t number) { return static_cast<unsigned long long>(number); };
    std::printf("%s\n", name);
    std::printf("  requests       %llu in %.1f s, %.3f %% succeeded, %llu retries (%.3f %%)\n", count(figures.asked),
                figures.took.count(), 100 * part(figures.succeeded, figures.asked), count(figures.retries),
                100 * part(figures.retries, figures.asked));
    for (const auto& [reason, times] : figures.failures)
        std::printf("  failed         %llu x %s\n", count(times), reason.c_str());
    std::printf("  answer         p50 %.1f ms, p95 %.1f ms, p99 %.1f ms, longest %.1f ms\n", ms(50), ms(95), ms(99),
                ms(100));
    const Shares shares = shares_of(figures.per_server);
    std::printf("  per server     mean %.1f, least %.0f, most %.0f, deviation %.2f; %.1f %% of them within 10 %%\n",
                shares.mean, shares.least, shares.most, shares.deviation, 100 * shares.within);
    std::printf(
        "  matches        %llu ended, %llu aborted; %llu beyond a capacity, %llu misplaced, %llu reports refused, "
        "%llu links lost\n",
        count(figures.ended), count(figures.aborted), count(figures.overfilled), count(figures.misplaced),
        count(figures.refused), count(figures.lost_links));
    std::printf("  server         %.1f us of CPU an allocation, %.0f MiB at most\n", run.cpu_us_each(),
                static_cast<double>(run.peak_bytes) / (1 << 20));
    std::fflush(stdout);
}

// Says which targets were missed.
bool meets_targets(const Run& run, const Options& options) {
    const LoadFigures& figures = run.figures;
    bool good = true;
    const auto want = [&](bool met, const char* what) {
        if (!met) std::printf("MISSED: %s\n", what);
        good = good && met;
    };
    want(part(figures.succeeded, figures.asked) > success_least, "more than 99.5 % succeed");
    want(part(figures.retries, figures.asked) < retries_max, "fewer than 1 % are retried");
    want(at_percentile(figures.answer_seconds, 95) < p95_seconds_max, "95 % are answered within 5 s");
    want(figures.overfilled == 0, "no server is given more than its capacity");
    want(figures.misplaced == 0, "an answer names the server that acknowledged");
    want(figures.refused == 0 && figures.lost_links == 0, "healthy peers are neither refused nor dropped");
    want(figures.ended == figures.succeeded, "every match is played to its end");
    if (options.even) want(shares_of(figures.per_server).within == 1, "equal servers' shares are within 10 %");
    return good;
}

int load(const Options& options) {
    const auto show = [&](const char* name, const Run& run) {
        if (options.json) {
            print_json(name, run);
        } else {
            print(name, run);
        }
    };
    Run muster;
    if (!options.only_bare) {
        const ScratchFolder folder(options.folder);
        ServedProcess process({options.muster.string(), "serve"}, muster_environment(options, folder.path()),
                              folder.path());
        muster = allocate("Muster", process, options.load);
        if (const int code = process.stop(); code != 0)
            throw std::runtime_error("Muster ended with exit code " + std::to_string(code));
        if (!options.keep.empty())
            std::filesystem::copy_file(folder.path() / "muster.db", options.keep,
                                       std::filesystem::copy_options::overwrite_existing);
        show("Muster", muster);
    }
    if (options.bare) {
        const ScratchFolder folder(options.folder);
        const auto here = std::filesystem::canonical("/proc/self/exe").parent_path();
        ServedProcess process({(here / "bare_allocator").string(), folder.path().string()}, {}, folder.path());
        const Run bare = allocate("bare server", process, options.load);
        show("bare server", bare);
        if (options.json || options.only_bare) return 0;
        std::printf("ratio            CPU %.2f x, p50 %.2f x, p95 %.2f x of the bare server's\n",
                    muster.cpu_us_each() / bare.cpu_us_each(),
                    at_percentile(muster.figures.answer_seconds, 50) / at_percentile(bare.figures.answer_seconds, 50),
                    at_percentile(muster.figures.answer_seconds, 95) / at_percentile(bare.figures.answer_seconds, 95));
    }
    return options.check && !meets_targets(muster, options) ? 1 : 0;
}

int reconnect(const Options& options) {
    const ScratchFolder folder(options.folder);
    std::vector<std::string> command{options.muster.string(), "serve"};
    auto environment = muster_environment(options, folder.path());
    LoadOptions load = options.load;
    std::optional<LoadCertificates> certificates;
    if (options.tls) {
        certificates.emplace(folder.path()).add_to(environment);
        load.server_tls = certificates->game_server();
        load.matchmaker_tls = certificates->matchmaker();
        load.resumes = true;
    }
    std::optional<ServedProcess> process;
    process.emplace(command, environment, folder.path());
    LoadFleet fleet(load);
    const auto first = fleet.register_all(ports_of(*process));
    fleet.heartbeat_all();
    const auto cpu_first = process->cpu();
    const double own_first = process_seconds();

    const auto began = std::chrono::steady_clock::now();
    fleet.cut_all();
    if (options.reconnect == Reconnect::restart) {
        if (const int code = process->stop(); code != 0)
            throw std::runtime_error("Muster ended with exit code " + std::to_string(code));
        process.emplace(command, environment, folder.path());
    }
    const auto again = fleet.register_all(ports_of(*process));
    const std::chrono::duration<double> away = std::chrono::steady_clock::now() - began;
    fleet.heartbeat_all();
    const LoadFigures& figures = fleet.figures();
    const bool is_restart = options.reconnect == Reconnect::restart;
    const std::chrono::duration<double> cpu_again = process->cpu() - (is_restart ? decltype(cpu_first){} : cpu_first);
    std::printf("%s: %.2f s of the daemon's CPU at first, %.2f s when they came back (and %.2f s of the fleet's own)",
                options.tls ? "over mutual TLS" : "without TLS", std::chrono::duration<double>(cpu_first).count(),
                cpu_again.count(), process_seconds() - own_first);
    if (options.tls) std::printf(", %zu by a ticket", fleet.resumed());
    std::printf("\n");
    std::printf(
        "%zu servers registered in %.2f s; after %s all were back in %.2f s (%.2f s after they could connect), "
        "%llu as another server, %llu links lost\n",
        options.load.servers, first.count(), is_restart ? "a restart" : "all links were cut", away.count(),
        again.count(), static_cast<unsigned long long>(figures.changed_ids),
        static_cast<unsigned long long>(figures.lost_links));
    // On a machine that is busy with other work they have twice what they took at first.
    const double limit = std::max(reconnect_seconds_max, 2 * first.count());
    const bool good = away.count() < limit && figures.changed_ids == 0 && figures.lost_links == 0;
    if (!good) std::printf("MISSED: all are back within %.0f s, none evicted meanwhile\n", limit);
    const bool cheap = 1e6 * cpu_again.count() < reconnect_cpu_us_max * static_cast<double>(options.load.servers);
    if (!cheap)
        std::printf("MISSED: the daemon takes %.0f us of CPU at most for each that comes back\n", reconnect_cpu_us_max);
    const bool by_ticket = !options.tls || fleet.resumed() >= options.load.servers;
    if (!by_ticket) std::printf("MISSED: all come back by their tickets\n");
    return options.check && !(good && cheap && by_ticket) ? 1 : 0;
}

int usage() {
    std::fprintf(
        stderr,
        "usage: fleet_load [--servers N] [--matchmakers N] [--allocations N] [--ack MS] [--match MS] [--rate N]\n"
        "                  [--capacity N] [--reconnect links|restart [--tls]] [--even] [--no-bare | --only-bare]\n"
        "                  [--json] [--check] [--store-url URL] [--keep FILE]\n"
        "                  [--muster PATH] [--folder PATH] [--seed N]\n");
    return 64;
}

std::optional<Options> parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view flag = argv[i];
        const std::string value = i + 1 < argc ? argv[i + 1] : "";
        bool takes_value = true;
        if (flag == "--servers") {
            options.load.servers = std::stoul(value);
        } else if (flag == "--matchmakers") {
            options.load.matchmakers = std::stoul(value);
        } else if (flag == "--allocations") {
            options.load.allocations = std::stoul(value);
        } else if (flag == "--ack") {
            options.load.ack_max = std::chrono::milliseconds(std::stoi(value));
        } else if (flag == "--match") {
            options.load.match = std::chrono::milliseconds(std::stoi(value));
        } else if (flag == "--rate") {
            options.load.per_second = std::stod(value);
        } else if (flag == "--capacity") {
            options.load.max_matches = std::stoi(value);
        } else if (flag == "--seed") {
            options.load.seed = std::stoull(value);
        } else if (flag == "--muster") {
            options.muster = value;
        } else if (flag == "--folder") {
            options.folder = value;
        } else if (flag == "--store-url") {
            options.store_url = value;
        } else if (flag == "--keep") {
            options.keep = value;
        } else if (flag == "--reconnect" && (value == "links" || value == "restart")) {
            options.reconnect = value == "links" ? Reconnect::links : Reconnect::restart;
        } else {
            takes_value = false;
            if (flag == "--even") {
                options.even = true;
            } else if (flag == "--tls") {
                options.tls = true;
            } else if (flag == "--no-bare") {
                options.bare = false;
            } else if (flag == "--only-bare") {
                options.only_bare = true;
            } else if (flag == "--json") {
                options.json = true;
            } else if (flag == "--check") {
                options.check = true;
            } else {
                return std::nullopt;
            }
        }
        if (takes_value && value.empty()) return std::nullopt;
        if (takes_value) ++i;
    }
    const LoadOptions& load = options.load;
    if (options.tls && options.reconnect == Reconnect::no) return std::nullopt;
    constexpr std::size_t servers_max = 1'000'000;
    if (load.servers == 0 || load.matchmakers == 0 || load.servers > servers_max || load.per_second <= 0)
        return std::nullopt;
    return options;
}

// Beside us, or where a build puts it.
std::filesystem::path find_muster() {
    const auto here = std::filesystem::canonical("/proc/self/exe").parent_path();
    for (const auto& place : {here / "muster", here.parent_path() / "muster"}) {
        if (std::filesystem::exists(place)) return place;
    }
    throw std::runtime_error("no muster beside this program: name it by --muster PATH");
}

}  // namespace

int main(int argc, char** argv) try {
    auto options = parse(argc, argv);
    if (!options) return usage();
    if (options->muster.empty()) options->muster = find_muster();
    raise_file_limit(options->load.servers + options->load.matchmakers);
    return options->reconnect == Reconnect::no ? load(*options) : reconnect(*options);
} catch (const std::exception& error) {
    std::fprintf(stderr, "fleet_load: %s\n", error.what());
    return 1;
}
