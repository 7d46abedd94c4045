// Fourth yardstick: the real daemon with many players, of whom some fall silent, some idle and some lose their link.
// The players know what must become of each of them and when, and judge what did.
//
//   player_load [--players N] [--seconds N] [--check] [--muster PATH] [--folder PATH] [--seed N]
//
// Starts `muster serve` on free ports with short times (a ping every 10 s, 20 s without an echo, 60 s without activity,
// 10 s of grace). Of a hundred players 80 echo and act, 8 stop echoing, 7 stop acting, 3 are cut and come back within
// the grace, 2 are cut and stay away. With --check the exit code is 1 when anybody was removed who should not have
// been, or not for the right reason, or more than a second from the right moment.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "peer_links.h"
#include "protocol/player_messages.h"
#include "served_process.h"

namespace {

using namespace muster;
using namespace muster::bench;
using namespace std::chrono_literals;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::chrono::seconds ping_timeout{20};
constexpr std::chrono::seconds idle_kick_after{60};
constexpr std::chrono::seconds grace{10};
constexpr double late_max_seconds = 1;

enum class Role : std::uint8_t { well, mute, idler, returner, leaver };
constexpr std::array role_names{"well", "mute", "idler", "returner", "leaver"};

struct Options {
    std::size_t players = 15'000;
    std::chrono::seconds length{120};
    std::uint64_t seed = 1;
    bool check = false;
    std::filesystem::path muster;
    std::filesystem::path folder = std::filesystem::temp_directory_path();
};

struct Player {
    Role role = Role::well;
    bool logged_in = false;
    bool over = false;
    std::int32_t id = 0;
    std::string resume_token;
    SteadyTime turns;  // from well to its role
    SteadyTime last_echo;
    SteadyTime last_activity;
    std::string close_reason;
};

struct Figures {
    std::size_t logged_in = 0;
    std::size_t resumed_same_id = 0;
    std::size_t resumed_other_id = 0;
    std::size_t wrong = 0;  // removed who should not be, or for another reason
    std::map<std::string, std::size_t> removed;
    std::vector<double> lateness;  // of removals, seconds after they were due
    std::uint64_t pings = 0;
    std::uint64_t messages = 0;
};

class Crowd final : private PeerEvents {
public:
    Crowd(const Options& options, std::uint16_t port)
        : options_(options),
          port_(port),
          random_(options.seed),
          players_(options.players),
          links_(options.players, *this) {
        for (std::size_t i = 0; i < players_.size(); ++i) {
            const std::size_t share = i % 100;
            players_[i].role = share < 80   ? Role::well
                               : share < 88 ? Role::mute
                               : share < 95 ? Role::idler
                               : share < 98 ? Role::returner
                                            : Role::leaver;
        }
    }

    void log_all_in() {
        // So many at a time: the listener's queue is not endless.
        constexpr std::size_t at_once = 500;
        for (std::size_t first = 0; first < players_.size(); first += at_once) {
            const std::size_t last = std::min(players_.size(), first + at_once);
            for (std::size_t i = first; i < last; ++i) links_.open(i, port_);
            const SteadyTime patience = std::chrono::steady_clock::now() + 60s;
            while (figures_.logged_in < last) {
                turn();
                if (now_ > patience) throw std::runtime_error("logins are not answered");
            }
        }
    }

    void live(const std::function<void(double, const Figures&)>& progress) {
        const SteadyTime began = std::chrono::steady_clock::now();
        const SteadyTime end = began + options_.length;
        // Whoever changes its ways does so early enough that what must follow is seen.
        const double latest = std::max(1.0, static_cast<double>((options_.length - idle_kick_after).count()) - 15);
        std::uniform_real_distribution<double> when(0, latest);
        std::uniform_real_distribution<double> soon(0, 15);
        for (std::size_t i = 0; i < players_.size(); ++i) {
            players_[i].turns = began + seconds_of(when(random_));
            at(began + seconds_of(soon(random_)), [this, i] { act(i); });
            if (players_[i].role == Role::returner || players_[i].role == Role::leaver)
                at(players_[i].turns, [this, i] { lose_link(i); });
        }
        SteadyTime shown = began;
        while (now_ < end) {
            turn();
            if (now_ - shown > 500ms) {
                shown = now_;
                progress(std::chrono::duration<double>(now_ - began) / options_.length, figures_);
            }
        }
        judge_the_rest();
    }

    const Figures& figures() const { return figures_; }
    std::size_t of_role(Role role) const {
        return static_cast<std::size_t>(std::count_if(players_.begin(), players_.end(),
                                                      [role](const Player& player) { return player.role == role; }));
    }

private:
    struct Event {
        SteadyTime due;
        std::function<void()> happen;
        bool operator<(const Event& other) const { return due > other.due; }
    };

    static std::chrono::nanoseconds seconds_of(double seconds) {
        return std::chrono::nanoseconds(std::llround(seconds * 1e9));
    }
    void at(SteadyTime due, std::function<void()> happen) { agenda_.push({due, std::move(happen)}); }

    void turn() {
        links_.turn(2ms);
        now_ = std::chrono::steady_clock::now();
        while (!agenda_.empty() && agenda_.top().due <= now_) {
            const auto happen = agenda_.top().happen;
            agenda_.pop();
            happen();
        }
    }

    bool is_itself(const Player& player) const { return player.turns == SteadyTime{} || now_ < player.turns; }

    void act(std::size_t i) {
        Player& player = players_[i];
        if (player.over) return;
        if (player.logged_in && (player.role != Role::idler || is_itself(player))) {
            links_.send(i, PlayerActivity{});
            player.last_activity = now_;
        }
        std::uniform_real_distribution<double> pause(5, 15);
        at(now_ + seconds_of(pause(random_)), [this, i] { act(i); });
    }

    void lose_link(std::size_t i) {
        Player& player = players_[i];
        if (player.over) return;
        links_.cut(i);
        player.logged_in = false;
        if (player.role == Role::leaver) {
            player.over = true;
            return;
        }
        std::uniform_real_distribution<double> away(0, 0.7 * static_cast<double>(grace.count()));
        at(now_ + seconds_of(away(random_)), [this, i] { links_.open(i, port_); });
    }

    // Each sign of life is noted before it is sent: what is counted from it is never early.
    void opened(std::size_t link) override {
        players_[link].last_echo = players_[link].last_activity = now();
        links_.send(link, PlayerLogin{NameText("player-" + std::to_string(link)), "",
                                      ResumeTokenText(players_[link].resume_token)});
    }

    void frame(std::size_t link, Code code, std::span<const std::byte> payload) override {
        Player& player = players_[link];
        ++figures_.messages;
        if (code == Ping::code) {
            ++figures_.pings;
            if (player.role == Role::mute && !is_itself(player)) return;
            player.last_echo = now();
            links_.send(link, PingEcho{});
        } else if (code == PlayerLoginResponse::code) {
            logged_in(player, payload);
        } else if (code == ServerClose::code) {
            const auto close = decode<ServerClose>(payload, ByteOrder::little);
            player.close_reason = close ? close->reason.string() : "?";
        }
    }

    void logged_in(Player& player, std::span<const std::byte> payload) {
        const auto answer = decode<PlayerLoginResponse>(payload, ByteOrder::little);
        const auto* accepted = answer ? std::get_if<PlayerLoginResponse::Accepted>(&answer->answer) : nullptr;
        if (!accepted) throw std::runtime_error("a login was refused");
        if (player.id == 0) {
            ++figures_.logged_in;
        } else {
            ++(player.id == accepted->player.value ? figures_.resumed_same_id : figures_.resumed_other_id);
        }
        player.id = accepted->player.value;
        player.resume_token = accepted->resume_token.string();
        player.logged_in = true;
    }

    void closed(std::size_t link) override {
        Player& player = players_[link];
        player.logged_in = false;
        player.over = true;
        const std::string reason = player.close_reason.empty() ? "closed without a word" : player.close_reason;
        ++figures_.removed[reason];
        SteadyTime due;
        if (player.role == Role::mute && reason == "Ping timeout") {
            due = player.last_echo + ping_timeout;
        } else if (player.role == Role::idler && reason == "Idle too long") {
            due = player.last_activity + idle_kick_after;
        } else {
            ++figures_.wrong;
            std::fprintf(stderr, "player %zu (%s): %s\n", link, role_names[static_cast<std::size_t>(player.role)],
                         reason.c_str());
            return;
        }
        figures_.lateness.push_back(std::chrono::duration<double>(now() - due).count());
    }

    // Who should be gone by now.
    void judge_the_rest() {
        for (std::size_t i = 0; i < players_.size(); ++i) {
            const Player& player = players_[i];
            const bool should_be_gone =
                (player.role == Role::mute && now_ > player.last_echo + ping_timeout + 1s && !is_itself(player)) ||
                (player.role == Role::idler && now_ > player.last_activity + idle_kick_after + 1s &&
                 !is_itself(player));
            const bool should_be_here = player.role == Role::well || player.role == Role::returner;
            if ((should_be_gone && !player.over) || (should_be_here && !player.logged_in)) {
                ++figures_.wrong;
                std::fprintf(stderr, "player %zu (%s) is %s at the end\n", i,
                             role_names[static_cast<std::size_t>(player.role)], player.logged_in ? "here" : "gone");
            }
        }
    }

    SteadyTime now() const { return std::chrono::steady_clock::now(); }

    Options options_;
    std::uint16_t port_;
    std::mt19937_64 random_;
    std::vector<Player> players_;
    PeerLinks links_;
    std::priority_queue<Event> agenda_;
    SteadyTime now_;
    Figures figures_;
};

// The page's text; empty when it cannot be had.
std::string http_get(std::uint16_t port, const std::string& path) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::string body;
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
        write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size())) {
        std::array<char, 65536> part;
        for (ssize_t got = 0; (got = read(fd, part.data(), part.size())) > 0;)
            body.append(part.data(), static_cast<std::size_t>(got));
    }
    close(fd);
    return body;
}

double metric(const std::string& page, const std::string& name) {
    const std::size_t found = page.find("\n" + name + " ");
    return found == page.npos ? 0 : std::atof(page.c_str() + found + name.size() + 2);
}

double at_percentile(std::vector<double> values, double percentile) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(static_cast<double>(values.size() - 1) * percentile / 100)];
}

Options options_of(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view flag = argv[i];
        if (flag == "--check") {
            options.check = true;
            continue;
        }
        if (i + 1 == argc) throw std::invalid_argument(std::string(flag));
        const std::string value = argv[++i];
        if (flag == "--players") {
            options.players = std::stoul(value);
        } else if (flag == "--seconds") {
            options.length = std::chrono::seconds(std::stoul(value));
        } else if (flag == "--seed") {
            options.seed = std::stoull(value);
        } else if (flag == "--muster") {
            options.muster = value;
        } else if (flag == "--folder") {
            options.folder = value;
        } else {
            throw std::invalid_argument(std::string(flag));
        }
    }
    if (options.muster.empty())
        options.muster = std::filesystem::canonical("/proc/self/exe").parent_path().parent_path() / "muster";
    if (options.length < idle_kick_after + 16s) throw std::invalid_argument("--seconds: at least 76");
    return options;
}

int run(const Options& options) {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < options.players + 100) throw std::runtime_error("too few open files are allowed (ulimit -n)");

    const ScratchFolder folder(options.folder);
    ServedProcess daemon({options.muster.string(), "serve"},
                         {{"MUSTER_LISTEN_PLAYERS", "127.0.0.1:0"},
                          {"MUSTER_LISTEN_SERVERS", "127.0.0.1:0"},
                          {"MUSTER_LISTEN_MATCHMAKERS", "127.0.0.1:0"},
                          {"MUSTER_LISTEN_HTTP", "127.0.0.1:0"},
                          {"MUSTER_STORE_PATH", (folder.path() / "muster.db").string()},
                          {"MUSTER_LIMITS_CONNECTIONS_PER_IP", "100000"},
                          {"MUSTER_LIMITS_ACCEPTS_PER_SECOND_IP", "100000"},
                          {"MUSTER_PLAYERS_BYTE_ORDER", "little"},
                          {"MUSTER_PLAYERS_PING_INTERVAL", "10s"},
                          {"MUSTER_PLAYERS_PING_TIMEOUT", std::to_string(ping_timeout.count()) + "s"},
                          {"MUSTER_PLAYERS_IDLE_AFTER", "20s"},
                          {"MUSTER_PLAYERS_IDLE_KICK_AFTER", std::to_string(idle_kick_after.count()) + "s"},
                          {"MUSTER_PLAYERS_RESUME_GRACE", std::to_string(grace.count()) + "s"},
                          {"MUSTER_CLOCK_SPEED", "60"}},
                         folder.path());
    const std::size_t empty_bytes = daemon.peak_bytes();
    Crowd crowd(options, daemon.port("players"));
    const auto began = std::chrono::steady_clock::now();
    crowd.log_all_in();
    const std::chrono::duration<double> login_took = std::chrono::steady_clock::now() - began;
    const auto cpu_before = daemon.cpu();
    const bool terminal = isatty(STDERR_FILENO) == 1;
    crowd.live([&](double part, const Figures& so_far) {
        if (!terminal) return;
        std::fprintf(stderr, "\r%3.0f %%  %llu pings", part * 100, static_cast<unsigned long long>(so_far.pings));
    });
    if (terminal) std::fprintf(stderr, "\r\033[K");
    const std::chrono::duration<double> cpu = daemon.cpu() - cpu_before;
    const std::string page = http_get(daemon.port("http"), "/metrics");
    const std::size_t full_bytes = daemon.peak_bytes();
    daemon.stop();

    const Figures& seen = crowd.figures();
    const auto removed = [&](const char* reason) {
        const auto found = seen.removed.find(reason);
        return found == seen.removed.end() ? std::size_t{0} : found->second;
    };
    const auto lost =
        static_cast<std::size_t>(metric(page, "muster_sessions_closed_total{reason=\"connection_lost\"}"));
    std::printf("%zu players for %lld s; logged in within %.1f s\n", options.players,
                static_cast<long long>(options.length.count()), login_took.count());
    std::printf("                          should   did\n");
    std::printf("removed, Ping timeout     %6zu  %6zu\n", crowd.of_role(Role::mute), removed("Ping timeout"));
    std::printf("removed, Idle too long    %6zu  %6zu\n", crowd.of_role(Role::idler), removed("Idle too long"));
    std::printf("gone after the grace      %6zu  %6zu\n", crowd.of_role(Role::leaver), lost);
    std::printf("resumed, the same player  %6zu  %6zu  (%zu as another)\n", crowd.of_role(Role::returner),
                seen.resumed_same_id, seen.resumed_other_id);
    std::printf("wrongly treated           %6d  %6zu\n", 0, seen.wrong);
    std::printf("removals after they were due: p50 %.3f s, p99 %.3f s, first %.3f s, last %.3f s\n",
                at_percentile(seen.lateness, 50), at_percentile(seen.lateness, 99), at_percentile(seen.lateness, 0),
                at_percentile(seen.lateness, 100));
    std::printf("daemon: %.1f %% of a core, %.0f bytes a connection at its peak (kernel's buffers aside)\n",
                cpu.count() / static_cast<double>(options.length.count()) * 100,
                static_cast<double>(full_bytes - empty_bytes) / static_cast<double>(options.players));
    std::printf("loop: pass %.3f ms on average, %.3f ms at most in the last 10 s, %.0f passes over 500 ms\n",
                metric(page, "muster_gameloop_tick_duration_avg_ms"),
                metric(page, "muster_gameloop_tick_duration_max_ms"),
                metric(page, "muster_gameloop_tick_overruns_total"));

    const bool counts_right = removed("Ping timeout") == crowd.of_role(Role::mute) &&
                              removed("Idle too long") == crowd.of_role(Role::idler) &&
                              lost == crowd.of_role(Role::leaver) &&
                              seen.resumed_same_id == crowd.of_role(Role::returner) && seen.resumed_other_id == 0;
    const bool on_time =
        at_percentile(seen.lateness, 100) <= late_max_seconds && at_percentile(seen.lateness, 0) > -0.1;
    if (!options.check || (seen.wrong == 0 && counts_right && on_time)) return 0;
    std::printf("missed: %s%s%s\n", seen.wrong == 0 ? "" : "somebody was wrongly treated; ",
                counts_right ? "" : "the counts differ; ", on_time ? "" : "removals were early or late");
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(options_of(argc, argv));
    } catch (const std::invalid_argument& bad) {
        std::fprintf(stderr, "player_load: bad argument %s\n", bad.what());
        return 64;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "player_load: %s\n", failure.what());
        return 1;
    }
}
