#include "frames_load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include <poll.h>
#include <unistd.h>

namespace muster::bench {
namespace {

// NET_CHAT_SV_HEARTBEAT: length 18, code 0x1002, server 7, 3 matches, 12.5 % CPU, 40 % memory.
constexpr std::array<std::uint8_t, 20> heartbeat{18, 0, 0x02, 0x10, 7,    0,    0, 0, 3,    0,
                                                 0,  0, 0,    0,    0x48, 0x41, 0, 0, 0x20, 0x42};
// NET_CHAT_SV_HEARTBEAT_ACK up to its time: length 11, code 0x1003, 1.
constexpr std::array<std::uint8_t, 5> ack_head{11, 0, 0x03, 0x10, 1};
constexpr std::size_t ack_bytes = 13;
constexpr int silence_ms_max = 5'000;

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

int connected(std::uint16_t port) {
    const int link = socket(AF_INET, SOCK_STREAM, 0);
    if (link < 0) fail("socket");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (connect(link, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("connect");
    const int on = 1;
    setsockopt(link, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // A reset leaves no TIME_WAIT behind, so that rounds do not run out of ports.
    const linger reset{1, 0};
    setsockopt(link, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    return link;
}

}  // namespace

FramesLoad::FramesLoad(std::uint16_t port, std::size_t links) : links_(links), events_(1024) {
    poll_ = epoll_create1(0);
    if (poll_ < 0) fail("epoll_create1");
    for (Link& link : links_) {
        link.socket = connected(port);
        epoll_event interest{};
        interest.events = EPOLLIN | EPOLLET;
        interest.data.ptr = &link;
        if (epoll_ctl(poll_, EPOLL_CTL_ADD, link.socket, &interest) != 0) fail("epoll_ctl");
    }
}

FramesLoad::~FramesLoad() {
    for (const Link& link : links_) {
        if (link.socket >= 0) close(link.socket);
    }
    if (poll_ >= 0) close(poll_);
}

std::uint64_t FramesLoad::run(std::chrono::nanoseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    for (Link& link : links_) ask(link);
    std::uint64_t answers = 0;
    while (std::chrono::steady_clock::now() < end) answers += answers_of(silence_ms_max);
    return answers;
}

std::uint64_t FramesLoad::run_requests(std::uint64_t wanted) {
    for (Link& link : links_) ask(link);
    std::uint64_t answers = 0;
    constexpr int slow_server_ms = 60'000;
    while (answers < wanted) answers += answers_of(slow_server_ms);
    return answers;
}

void FramesLoad::ask(Link& link) {
    if (link.asked) return;
    if (send(link.socket, heartbeat.data(), heartbeat.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(heartbeat.size()))
        fail("send");
    link.asked = true;
}

std::uint64_t FramesLoad::answers_of(int events_wait_ms) {
    const int ready = epoll_wait(poll_, events_.data(), static_cast<int>(events_.size()), events_wait_ms);
    if (ready < 0 && errno != EINTR) fail("epoll_wait");
    if (ready == 0) throw std::runtime_error("the server fell silent");
    std::uint64_t answers = 0;
    for (int i = 0; i < ready; ++i) {
        Link& link = *static_cast<Link*>(events_[static_cast<std::size_t>(i)].data.ptr);
        std::array<std::byte, 64> answer;
        const ssize_t got = recv(link.socket, answer.data(), answer.size(), MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN) continue;
        if (got != static_cast<ssize_t>(ack_bytes) || std::memcmp(answer.data(), ack_head.data(), ack_head.size()) != 0)
            throw std::runtime_error("a wrong answer of " + std::to_string(got) + " bytes");
        ++answers;
        link.asked = false;
        ask(link);
    }
    return answers;
}

void raise_file_limit(std::size_t links) {
    constexpr std::size_t others = 64;
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    const rlim_t wanted = links + others;
    if (files.rlim_cur >= wanted) return;
    files.rlim_cur = wanted;
    if (files.rlim_max < wanted) files.rlim_max = wanted;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0) {
        throw std::runtime_error(std::to_string(links) + " links need " + std::to_string(wanted) +
                                 " open files and the limit cannot be raised to that: try `ulimit -Hn " +
                                 std::to_string(wanted) + "` as root, or fewer links by --links");
    }
}

}  // namespace muster::bench
