// Fourth yardstick: what readers of the HTTP API cost the fleet (O-2).
//
//   api_load [--servers N] [--requests N] [--rounds N] [--seconds N] [--path PATH] [--at-once] [--check]
//            [--muster PATH]
//
// Starts `muster serve`, registers the game servers, and lets them heartbeat at their usual rate. In turns, some
// seconds each: nobody asks for anything; readers ask a bare server (bench/limits/bare_http.cpp) for the bytes of a
// list of servers so many times a second, at an even rate, or with --at-once four at the same moment; and the same
// readers ask Muster. Prints the round trip of heartbeats in all three. The aim is 1.10 at most of nobody asking, in
// the median, with 10,000 servers and 1,000 requests a second. The readers, too, take time of the machine's cores: the
// ratio to the bare server tells what of it is Muster's. With --check the exit code is 1 when the aim is missed, or
// when the readers were not answered.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "frames_load.h"
#include "peer_links.h"
#include "protocol/server_messages.h"
#include "served_process.h"

namespace {

using namespace muster;
using namespace muster::bench;
using namespace std::chrono_literals;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr double ratio_max = 1.10;
constexpr double answered_min = 0.95;  // of what was asked for
constexpr std::chrono::seconds heartbeat_interval{10};
constexpr std::size_t readers = 4;

struct Options {
    std::size_t servers = 10'000;
    std::size_t requests = 1'000;  // a second
    std::size_t rounds = 15;
    int seconds = 2;
    std::string path = "/api/v1/servers";
    bool at_once = false;
    bool check = false;
    std::filesystem::path muster;
    std::filesystem::path here;  // the folder of this program, and of the bare server
};

double at_percentile(std::vector<double>& values, double percentile) {
    if (values.empty()) return 0;
    const auto at = static_cast<std::size_t>(static_cast<double>(values.size() - 1) * percentile / 100);
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
    return values[at];
}

// Game servers that do nothing but say that they live, one after the other at an even rate.
class HeartbeatingFleet final : public PeerEvents {
public:
    HeartbeatingFleet(std::size_t count, std::uint16_t port) : links_(count, *this), servers_(count) {
        for (std::size_t link = 0; link < count; ++link) {
            links_.open(link, port);
            if (link % 256 == 255) links_.turn(1ms);
        }
        const auto end = std::chrono::steady_clock::now() + 60s;
        while (registered_ < count) {
            links_.turn(10ms);
            if (std::chrono::steady_clock::now() > end) throw std::runtime_error("the servers cannot register");
        }
    }

    // The round trips, in microseconds.
    std::vector<double> run(std::chrono::seconds time) {
        round_trips_.clear();
        const auto begun = std::chrono::steady_clock::now();
        const auto gap = std::chrono::nanoseconds(heartbeat_interval) / servers_.size();
        auto next = begun;
        for (auto now = begun; now < begun + time; now = std::chrono::steady_clock::now()) {
            for (; next <= now; next += gap) beat();
            links_.turn(std::max<std::chrono::nanoseconds>(next - now, 0ns));
        }
        return round_trips_;
    }

    void opened(std::size_t link) override {
        const auto port = static_cast<std::int32_t>(1024 + link % 60'000);
        const std::string ip = fmt::format("10.0.{}.1", link / 60'000);
        links_.send(link, ServerHandshake{"", GameEndpoint{IpText(ip), port}, RegionId(2), 100});
    }
    void frame(std::size_t link, Code code, std::span<const std::byte> payload) override {
        Server& server = servers_[link];
        if (code == ServerHandshakeResponse::code) {
            const auto answer = decode<ServerHandshakeResponse>(payload, ByteOrder::little);
            server.id = std::get<ServerHandshakeResponse::Accepted>(answer.value().answer).server;
            ++registered_;
        } else if (code == ServerHeartbeatAck::code && server.asked != SteadyTime{}) {
            const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - server.asked;
            round_trips_.push_back(took.count());
            server.asked = {};
        }
    }
    void closed(std::size_t) override { throw std::runtime_error("the daemon has closed a link"); }

private:
    struct Server {
        ServerId id;
        SteadyTime asked{};
    };

    void beat() {
        const std::size_t link = turn_++ % servers_.size();
        servers_[link].asked = std::chrono::steady_clock::now();
        links_.send(link, ServerHeartbeat{servers_[link].id, 3, 45.2F, 62.8F});
    }

    PeerLinks links_;
    std::vector<Server> servers_;
    std::size_t registered_ = 0;
    std::size_t turn_ = 0;
    std::vector<double> round_trips_;
};

// Asks over one connection.
class Reader {
public:
    Reader(std::uint16_t port, const Options& options)
        : request_(fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", options.path)),
          gap_(std::chrono::nanoseconds(1s) * readers / options.requests),
          socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
            throw std::runtime_error("cannot connect to the HTTP port");
    }
    ~Reader() {
        ending_ = true;
        if (thread_.joinable()) thread_.join();
        ::close(socket_);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    // From `begin` on at an even rate, in a thread of its own.
    void start(SteadyTime begin) {
        thread_ = std::thread([this, begin] { run(begin); });
    }
    std::uint64_t answers() const { return answers_; }
    std::uint64_t bytes() const { return bytes_; }

    // Empty when there is no good answer.
    std::string ask() {
        if (::send(socket_, request_.data(), request_.size(), MSG_NOSIGNAL) < 0) return {};
        std::string got;
        std::size_t whole = 0;
        char buffer[65536];
        do {
            const ssize_t size = ::recv(socket_, buffer, sizeof(buffer), 0);
            if (size <= 0) return {};
            got.append(buffer, static_cast<std::size_t>(size));
            if (const std::size_t head = got.find("\r\n\r\n"); whole == 0 && head != std::string::npos) {
                if (!got.starts_with("HTTP/1.1 200")) return {};
                const std::size_t length = got.find("Content-Length: ");
                whole = head + 4 + std::stoul(got.substr(length + 16));
            }
        } while (whole == 0 || got.size() < whole);
        ++answers_;
        bytes_ += got.size();
        return got;
    }

private:
    void run(SteadyTime next) {
        while (!ending_) {
            std::this_thread::sleep_until(next);
            next += gap_;
            if (ask().empty()) return;
        }
    }

    const std::string request_;
    const std::chrono::nanoseconds gap_;
    const int socket_;
    std::atomic<bool> ending_{false};
    std::atomic<std::uint64_t> answers_{0};
    std::atomic<std::uint64_t> bytes_{0};
    std::thread thread_;
};

// All that ask one server. They connect anew for each turn: a server drops who says nothing for long.
class Readers {
public:
    Readers(std::uint16_t port, const Options& options) : port_(port), options_(options) {}

    // They ask for as long as `doing` takes.
    template <class Doing>
    auto during(Doing doing) {
        std::vector<std::unique_ptr<Reader>> turn;
        for (std::size_t i = 0; i < readers; ++i) turn.push_back(std::make_unique<Reader>(port_, options_));
        // One after the other: all of them together ask at an even rate, too.
        const auto apart = std::chrono::nanoseconds(options_.at_once ? 0s : 1s) / options_.requests;
        auto begin = std::chrono::steady_clock::now();
        for (const auto& reader : turn) {
            reader->start(begin);
            begin += apart;
        }
        auto result = doing();
        for (const auto& reader : turn) {
            answers_ += reader->answers();
            bytes_ += reader->bytes();
        }
        return result;
    }
    // One, for who wants to see it.
    std::string answer() { return Reader(port_, options_).ask(); }

    std::uint64_t answers() const { return answers_; }
    double kib_each() const {
        return static_cast<double>(bytes_) / static_cast<double>(std::max<std::uint64_t>(1, answers_)) / 1024;
    }

private:
    const std::uint16_t port_;
    const Options& options_;
    std::uint64_t answers_ = 0;
    std::uint64_t bytes_ = 0;
};

// One way to be asked, and what the heartbeats took meanwhile: turn by turn, and all of it.
struct Turns {
    const char* what;
    std::vector<std::vector<double>> each;

    // What one heartbeat took, of all turns.
    std::vector<double> all() const {
        std::vector<double> together;
        for (const auto& turn : each) together.insert(together.end(), turn.begin(), turn.end());
        return together;
    }
    void print() const {
        std::vector<double> took = all();
        double sum = 0;
        for (const double one : took) sum += one;
        std::printf("%-14s %7zu heartbeats, round trip in us: mean %7.1f  p50 %7.1f  p95 %7.1f  p99 %7.1f\n", what,
                    took.size(), sum / static_cast<double>(std::max<std::size_t>(1, took.size())),
                    at_percentile(took, 50), at_percentile(took, 95), at_percentile(took, 99));
    }
    // A percentile as a multiple of the other's: round by round, since the machine is not the same for long, and then
    // the median of the rounds.
    double ratio_to(const Turns& other, double percentile) const {
        std::vector<double> ratios;
        for (std::size_t i = 0; i < each.size(); ++i) {
            auto ours = each[i];
            auto theirs = other.each[i];
            ratios.push_back(at_percentile(ours, percentile) / at_percentile(theirs, percentile));
        }
        return at_percentile(ratios, 50);
    }
};

int run(const Options& options) {
    raise_file_limit(options.servers + 64);
    const ScratchFolder folder(std::filesystem::temp_directory_path());
    ServedProcess daemon({options.muster, "serve"},
                         {{"MUSTER_LISTEN_SERVERS", "127.0.0.1:0"},
                          {"MUSTER_LISTEN_MATCHMAKERS", "127.0.0.1:0"},
                          {"MUSTER_LISTEN_PLAYERS", "127.0.0.1:0"},
                          {"MUSTER_LISTEN_HTTP", "127.0.0.1:0"},
                          {"MUSTER_LIMITS_CONNECTIONS_PER_IP", "100000"},
                          {"MUSTER_LIMITS_ACCEPTS_PER_SECOND_IP", "100000"},
                          {"MUSTER_STORE_PATH", (folder.path() / "muster.db").string()}},
                         folder.path());
    HeartbeatingFleet fleet(options.servers, daemon.port("servers"));
    (void)fleet.run(std::chrono::seconds(2));  // until all is warm

    const ScratchFolder bare_folder(std::filesystem::temp_directory_path());
    const std::filesystem::path answer = bare_folder.path() / "answer";
    std::ofstream(answer, std::ios::binary) << Readers(daemon.port("http"), options).answer();
    const std::string bare_http = (options.here / "bare_http").string();
    const ServedProcess bare({bare_http, answer.string()}, {}, bare_folder.path());

    Readers of_muster(daemon.port("http"), options);
    Readers of_bare(bare.port("http"), options);
    const std::chrono::seconds turn(options.seconds);
    Turns quiet{"nobody asks:", {}};
    Turns beside_bare{"bare is asked:", {}};
    Turns beside_muster{"muster is:", {}};
    const std::array<std::function<void()>, 3> kinds{
        [&] { quiet.each.push_back(fleet.run(turn)); },
        [&] { beside_bare.each.push_back(of_bare.during([&] { return fleet.run(turn); })); },
        [&] { beside_muster.each.push_back(of_muster.during([&] { return fleet.run(turn); })); }};
    for (std::size_t round = 0; round < options.rounds; ++round)
        for (std::size_t i = 0; i < kinds.size(); ++i)
            kinds[(round + i) % kinds.size()]();  // each goes first in its turn

    const double seconds = static_cast<double>(options.rounds) * options.seconds;
    std::printf("%zu servers, GET %s, %.1f KiB each; answers/s: the bare server %.0f, muster %.0f\n", options.servers,
                options.path.c_str(), of_muster.kib_each(), static_cast<double>(of_bare.answers()) / seconds,
                static_cast<double>(of_muster.answers()) / seconds);
    for (const Turns* turns : {&quiet, &beside_bare, &beside_muster}) turns->print();
    std::printf("muster is asked, as a multiple (median of %zu rounds)\n", options.rounds);
    for (const Turns* other : {&quiet, &beside_bare})
        std::printf("  of %-14s p50 %.3f  p95 %.3f  p99 %.3f\n", other->what, beside_muster.ratio_to(*other, 50),
                    beside_muster.ratio_to(*other, 95), beside_muster.ratio_to(*other, 99));
    // Readers who were not answered cost nothing, and show nothing.
    const auto enough = [&](const Readers& asked) {
        return static_cast<double>(asked.answers()) >= answered_min * seconds * static_cast<double>(options.requests);
    };
    const bool asked_enough = enough(of_bare) && enough(of_muster);
    if (!asked_enough) std::printf("too few answers: this measured nothing\n");
    return options.check && (beside_muster.ratio_to(quiet, 50) > ratio_max || !asked_enough) ? 1 : 0;
}

Options parsed(int count, char** arguments) {
    Options options;
    options.here = std::filesystem::path(arguments[0]).parent_path();
    options.muster = options.here.parent_path() / "muster";
    for (int i = 1; i < count; ++i) {
        const std::string_view name = arguments[i];
        const auto value = [&]() -> std::string {
            if (++i == count) throw std::runtime_error(fmt::format("{} needs a value", name));
            return arguments[i];
        };
        if (name == "--servers")
            options.servers = std::stoul(value());
        else if (name == "--requests")
            options.requests = std::stoul(value());
        else if (name == "--rounds")
            options.rounds = std::stoul(value());
        else if (name == "--seconds")
            options.seconds = std::stoi(value());
        else if (name == "--path")
            options.path = value();
        else if (name == "--muster")
            options.muster = value();
        else if (name == "--at-once")
            options.at_once = true;
        else if (name == "--check")
            options.check = true;
        else
            throw std::runtime_error(fmt::format("unknown option {}; see the top of bench/api_load.cpp", name));
    }
    if (options.servers == 0 || options.requests == 0 || options.rounds == 0 || options.seconds < 1)
        throw std::runtime_error("--servers, --requests, --rounds and --seconds are at least 1");
    return options;
}

}  // namespace

int main(int count, char** arguments) {
    try {
        return run(parsed(count, arguments));
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "api_load: %s\n", failure.what());
        return 2;
    }
}
