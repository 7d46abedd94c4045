// A load of plain links on a server that runs already: heartbeats for Muster and for the bare server, SET for Redis.
//
//   link_load --speaks muster|bare|redis --port N --links N --pids PID[,PID…]
//             [--in-flight N | --rate N] [--seconds S] [--warm-up S]
//
// One thread. Without --rate each link has --in-flight requests outstanding all the while (1): the next ones leave when
// all of these were answered. With --rate requests are due at their moments, whatever became of those before, and go
// round the links. With --seconds 0 the links only register and rest; their memory is read after a second of rest.
//
// Prints one JSON object: answers, per_second, p50_ms and p99_ms (from when a request was due), cpu_us (of the
// processes named, an answer), resident_before and resident_after (their memory before the first link and with all of
// them).
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "frames_load.h"
#include "protocol/codec.h"
#include "protocol/server_messages.h"

namespace {

using namespace muster;
using namespace std::chrono_literals;
using Moment = std::chrono::steady_clock::time_point;

constexpr std::size_t links_per_address = 20'000;  // of the loopback's addresses: each has some 28,000 ports to give
constexpr std::size_t servers_per_address = 60'000;
constexpr std::int32_t first_port = 1'024;
constexpr auto silence_max = 30s;
constexpr auto rest = 1s;

enum class Speaks : std::uint8_t { muster, bare, redis };

struct Options {
    Speaks speaks = Speaks::muster;
    std::uint16_t port = 0;
    std::size_t links = 0;
    std::vector<pid_t> pids;
    std::size_t in_flight = 1;
    double rate = 0;
    std::chrono::duration<double> seconds{1};
    std::chrono::duration<double> warm_up{0.2};
};

using Bytes = std::vector<std::byte>;

// What a server is asked, and how long its answer is.
struct Language {
    Bytes request;
    std::size_t answer_bytes = 0;
    Bytes answer_head;  // with which each answer begins
};

Bytes bytes_of(std::string_view text) {
    const auto all = std::as_bytes(std::span(text));
    return {all.begin(), all.end()};
}

Language language_of(Speaks speaks, ServerId server) {
    if (speaks == Speaks::redis)
        return {bytes_of("*3\r\n$3\r\nSET\r\n$9\r\nserver:42\r\n$8\r\n12 20 30\r\n"), 5, bytes_of("+OK\r\n")};
    Language beats;
    encode(ServerHeartbeat{server, 0, 12.5F, 40.0F}, ByteOrder::little, beats.request);
    Bytes answer;
    encode(ServerHeartbeatAck{ServerHeartbeatAck::Accepted{UnixMs{0}}}, ByteOrder::little, answer);
    beats.answer_bytes = answer.size();
    beats.answer_head = {answer.begin(), answer.end() - sizeof(std::int64_t)};  // up to its time
    return beats;
}

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

class LinkLoad {
public:
    explicit LinkLoad(const Options& options) : options_(options), links_(options.links), events_(1024) {
        poll_ = epoll_create1(EPOLL_CLOEXEC);
        if (poll_ < 0) fail("epoll_create1");
        for (std::size_t i = 0; i < links_.size(); ++i) connect_link(i);
    }
    ~LinkLoad() {
        for (const Link& link : links_) {
            if (link.socket >= 0) close(link.socket);
        }
        if (poll_ >= 0) close(poll_);
    }
    LinkLoad(const LinkLoad&) = delete;
    LinkLoad& operator=(const LinkLoad&) = delete;

    // Every link is answered once: a fleet at rest.
    void settle() {
        for (Link& link : links_) ask(link, 1, std::chrono::steady_clock::now());
        while (outstanding_ > 0) hear(1ms);
        forget();
    }

    void closed_loop(std::chrono::duration<double> time) {
        const Moment end =
            std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(time);
        goes_on_ = true;
        const Moment began = std::chrono::steady_clock::now();
        for (Link& link : links_) ask(link, options_.in_flight, began);
        while (std::chrono::steady_clock::now() < end) hear(10ms);
        goes_on_ = false;
    }

    void open_loop(std::chrono::duration<double> time) {
        const Moment began = std::chrono::steady_clock::now();
        const auto due_of = [&](std::uint64_t request) {
            return began + std::chrono::duration_cast<std::chrono::nanoseconds>(
                               std::chrono::duration<double>(static_cast<double>(request) / options_.rate));
        };
        const auto all = static_cast<std::uint64_t>(time.count() * options_.rate);
        for (std::uint64_t asked = 0; asked < all;) {
            const Moment now = std::chrono::steady_clock::now();
            for (; asked < all && due_of(asked) <= now; ++asked) ask(links_[next_++ % links_.size()], 1, due_of(asked));
            hear(asked < all ? std::max(due_of(asked) - std::chrono::steady_clock::now(), 0ns) : 0ns);
        }
    }

    // Waits for what is still outstanding.
    void finish() {
        while (outstanding_ > 0) hear(1ms);
    }

    std::uint64_t answers() const { return answers_; }
    double percentile_ms(double percentile) {
        if (seconds_.empty()) return 0;
        const auto at = static_cast<std::ptrdiff_t>(static_cast<double>(seconds_.size() - 1) * percentile / 100);
        std::nth_element(seconds_.begin(), seconds_.begin() + at, seconds_.end());
        return 1'000 * seconds_[static_cast<std::size_t>(at)];
    }
    void forget() {
        answers_ = 0;
        seconds_.clear();
    }

private:
    struct Link {
        int socket = -1;
        Language language;
        Bytes in;
        std::deque<Moment> due;  // of what is outstanding
    };

    void connect_link(std::size_t index) {
        Link& link = links_[index];
        link.socket = socket(AF_INET, SOCK_STREAM, 0);
        if (link.socket < 0) fail("socket");
        sockaddr_in ours{};
        ours.sin_family = AF_INET;
        ours.sin_addr.s_addr = htonl(INADDR_LOOPBACK + static_cast<std::uint32_t>(index / links_per_address));
        const int on = 1;
        setsockopt(link.socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        if (bind(link.socket, reinterpret_cast<sockaddr*>(&ours), sizeof ours) != 0) fail("bind");
        sockaddr_in theirs = ours;
        theirs.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        theirs.sin_port = htons(options_.port);
        if (connect(link.socket, reinterpret_cast<sockaddr*>(&theirs), sizeof theirs) != 0) fail("connect");
        setsockopt(link.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        // A reset leaves no TIME_WAIT behind, so that rounds do not run out of ports.
        const linger reset{1, 0};
        setsockopt(link.socket, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        const ServerId server = options_.speaks == Speaks::muster ? registered(link.socket, index) : ServerId(7);
        link.language = language_of(options_.speaks, server);
        epoll_event interest{};
        interest.events = EPOLLIN;
        interest.data.u64 = index;
        if (epoll_ctl(poll_, EPOLL_CTL_ADD, link.socket, &interest) != 0) fail("epoll_ctl");
    }

    // One after the other: what a registration costs is not what is measured here.
    static ServerId registered(int socket, std::size_t index) {
        const std::string ip = "10.0.0." + std::to_string(1 + index / servers_per_address);
        const auto port = first_port + static_cast<std::int32_t>(index % servers_per_address);
        Bytes hello;
        encode(ServerHandshake{{}, {ip, port}, RegionId(2), 10}, ByteOrder::little, hello);
        if (send(socket, hello.data(), hello.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(hello.size())) fail("send");
        std::array<std::byte, 512> answer{};
        const ssize_t got = recv(socket, answer.data(), answer.size(), 0);
        constexpr std::size_t head = 4;  // length and code
        if (got <= static_cast<ssize_t>(head)) fail("no answer to a handshake");
        const auto message = decode<ServerHandshakeResponse>(
            std::span(answer).first(static_cast<std::size_t>(got)).subspan(head), ByteOrder::little);
        const auto* accepted = message ? std::get_if<ServerHandshakeResponse::Accepted>(&message->answer) : nullptr;
        if (!accepted) throw std::runtime_error("a game server was refused");
        return accepted->server;
    }

    void ask(Link& link, std::size_t count, Moment due) {
        scratch_.clear();
        for (std::size_t i = 0; i < count; ++i) {
            scratch_.insert(scratch_.end(), link.language.request.begin(), link.language.request.end());
            link.due.push_back(due);
        }
        outstanding_ += count;
        if (send(link.socket, scratch_.data(), scratch_.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(scratch_.size()))
            fail("the server does not read");
    }

    void hear(std::chrono::nanoseconds wait) {
        const timespec limit{wait / 1s, static_cast<long>((wait % 1s).count())};
        const int ready = epoll_pwait2(poll_, events_.data(), static_cast<int>(events_.size()), &limit, nullptr);
        const Moment now = std::chrono::steady_clock::now();
        if (ready > 0) heard_ = now;
        if (outstanding_ > 0 && now - heard_ > silence_max) throw std::runtime_error("the server has fallen silent");
        for (int i = 0; i < ready; ++i) take_answers(links_[events_[static_cast<std::size_t>(i)].data.u64], now);
    }

    void take_answers(Link& link, Moment now) {
        const ssize_t got = recv(link.socket, chunk_.data(), chunk_.size(), MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) throw std::runtime_error("the server closed a link");
        link.in.insert(link.in.end(), chunk_.begin(), chunk_.begin() + got);
        const Language& language = link.language;
        std::size_t at = 0;
        for (; link.in.size() - at >= language.answer_bytes; at += language.answer_bytes) {
            if (link.due.empty() || !std::equal(language.answer_head.begin(), language.answer_head.end(),
                                                link.in.begin() + static_cast<std::ptrdiff_t>(at)))
                throw std::runtime_error("an answer that nobody expects");
            seconds_.push_back(std::chrono::duration<double>(now - link.due.front()).count());
            link.due.pop_front();
            --outstanding_;
            ++answers_;
        }
        link.in.erase(link.in.begin(), link.in.begin() + static_cast<std::ptrdiff_t>(at));
        if (goes_on_ && link.due.empty()) ask(link, options_.in_flight, now);
    }

    const Options options_;
    int poll_ = -1;
    std::vector<Link> links_;
    std::vector<epoll_event> events_;
    std::array<std::byte, 64 * 1024> chunk_{};
    Bytes scratch_;
    std::vector<double> seconds_;
    Moment heard_ = std::chrono::steady_clock::now();
    std::uint64_t answers_ = 0;
    std::uint64_t outstanding_ = 0;
    std::uint64_t next_ = 0;
    bool goes_on_ = false;
};

double cpu_us_of(const std::vector<pid_t>& pids) {
    double all = 0;
    for (const pid_t pid : pids) {
        clockid_t clock{};
        timespec used{};
        if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
            throw std::runtime_error("process " + std::to_string(pid) + " is gone");
        all += static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
    }
    return all;
}

std::size_t resident_bytes_of(const std::vector<pid_t>& pids) {
    std::size_t all = 0;
    for (const pid_t pid : pids) {
        std::ifstream in("/proc/" + std::to_string(pid) + "/status");
        for (std::string line; std::getline(in, line);) {
            if (line.starts_with("VmRSS:")) all += std::stoul(line.substr(6)) * 1024;
        }
    }
    return all;
}

std::optional<Options> parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view flag = argv[i];
        const std::string value = argv[i + 1];
        if (flag == "--speaks" && (value == "muster" || value == "bare" || value == "redis")) {
            options.speaks = value == "muster" ? Speaks::muster : value == "bare" ? Speaks::bare : Speaks::redis;
        } else if (flag == "--port") {
            options.port = static_cast<std::uint16_t>(std::stoul(value));
        } else if (flag == "--links") {
            options.links = std::stoul(value);
        } else if (flag == "--pids") {
            std::stringstream list(value);
            for (std::string pid; std::getline(list, pid, ',');) options.pids.push_back(std::stoi(pid));
        } else if (flag == "--in-flight") {
            options.in_flight = std::stoul(value);
        } else if (flag == "--rate") {
            options.rate = std::stod(value);
        } else if (flag == "--seconds") {
            options.seconds = std::chrono::duration<double>(std::stod(value));
        } else if (flag == "--warm-up") {
            options.warm_up = std::chrono::duration<double>(std::stod(value));
        } else {
            return std::nullopt;
        }
    }
    if (argc % 2 == 0 || options.port == 0 || options.links == 0 || options.pids.empty() || options.in_flight == 0)
        return std::nullopt;
    return options;
}

int run(const Options& options) {
    const std::size_t resident_before = resident_bytes_of(options.pids);
    LinkLoad load(options);
    load.settle();
    if (options.seconds.count() <= 0) std::this_thread::sleep_for(rest);
    const std::size_t resident_after = resident_bytes_of(options.pids);
    const auto loop = [&](std::chrono::duration<double> time) {
        if (options.rate > 0) {
            load.open_loop(time);
        } else {
            load.closed_loop(time);
        }
        load.finish();
    };
    double cpu_us = 0;
    std::chrono::duration<double> took{0};
    if (options.seconds.count() > 0) {
        loop(options.warm_up);
        load.forget();
        const double before = cpu_us_of(options.pids);
        const Moment began = std::chrono::steady_clock::now();
        loop(options.seconds);
        took = std::chrono::steady_clock::now() - began;
        cpu_us = cpu_us_of(options.pids) - before;
    }
    const auto answers = static_cast<double>(std::max<std::uint64_t>(1, load.answers()));
    std::printf(
        "{\"links\":%zu,\"answers\":%llu,\"per_second\":%.1f,\"p50_ms\":%.4f,\"p99_ms\":%.4f,\"cpu_us\":%.4f,"
        "\"resident_before\":%zu,\"resident_after\":%zu}\n",
        options.links, static_cast<unsigned long long>(load.answers()), took.count() > 0 ? answers / took.count() : 0.0,
        load.percentile_ms(50), load.percentile_ms(99), cpu_us / answers, resident_before, resident_after);
    return 0;
}

}  // namespace

int main(int argc, char** argv) try {
    const auto options = parse(argc, argv);
    if (!options) {
        std::fprintf(stderr,
                     "usage: link_load --speaks muster|bare|redis --port N --links N --pids PID[,PID…]\n"
                     "                 [--in-flight N | --rate N] [--seconds S] [--warm-up S]\n");
        return 64;
    }
    muster::bench::raise_file_limit(options->links);
    return run(*options);
} catch (const std::exception& error) {
    std::fprintf(stderr, "link_load: %s\n", error.what());
    return 1;
}
