// The limit that frames_bench measures against: the least a server of these bytes can do. One thread, edge-triggered
// epoll, one recv and one send a request; no limits, no timers, no partial frames, no game.
//
// Prints "PORT n" and serves until it is killed.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace {

constexpr std::size_t heartbeat_bytes = 20;
constexpr std::size_t ack_bytes = 13;
constexpr int events_max = 1024;

void require(bool works, const char* what) {
    if (works) return;
    std::perror(what);
    std::exit(1);
}

int listen_on_any_port() {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    require(listener >= 0, "socket");
    const int on = 1;
    require(setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    require(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
    require(listen(listener, 4096) == 0, "listen");
    socklen_t size = sizeof address;
    require(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
    std::printf("PORT %d\n", ntohs(address.sin_port));
    std::fflush(stdout);
    return listener;
}

void accept_all(int poll, int listener) {
    for (;;) {
        const int link = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
        if (link < 0) return;
        epoll_event interest{};
        interest.events = EPOLLIN | EPOLLET;
        interest.data.fd = link;
        require(epoll_ctl(poll, EPOLL_CTL_ADD, link, &interest) == 0, "epoll_ctl");
    }
}

std::int64_t unix_ms() {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
}

void write_ack(std::byte* to, std::int64_t time_ms) {
    constexpr std::array<std::uint8_t, 5> head{11, 0, 0x03, 0x10, 1};
    std::memcpy(to, head.data(), head.size());
    std::memcpy(to + head.size(), &time_ms, sizeof time_ms);
}

}  // namespace

int main() {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);

    const int listener = listen_on_any_port();
    const int poll = epoll_create1(0);
    epoll_event interest{};
    interest.events = EPOLLIN;
    interest.data.fd = listener;
    require(epoll_ctl(poll, EPOLL_CTL_ADD, listener, &interest) == 0, "epoll_ctl");

    static std::array<std::byte, 64 * 1024> in;
    static std::array<std::byte, in.size() / heartbeat_bytes * ack_bytes> out;
    static std::array<epoll_event, events_max> events;
    for (;;) {
        const int ready = epoll_wait(poll, events.data(), events_max, -1);
        const std::int64_t now_ms = unix_ms();
        for (int i = 0; i < ready; ++i) {
            const int link = events[static_cast<std::size_t>(i)].data.fd;
            if (link == listener) {
                accept_all(poll, listener);
                continue;
            }
            const ssize_t got = recv(link, in.data(), in.size(), 0);
            if (got < 0) continue;
            const std::size_t requests = static_cast<std::size_t>(got) / heartbeat_bytes;
            for (std::size_t n = 0; n < requests; ++n) write_ack(out.data() + n * ack_bytes, now_ms);
            if (requests == 0 || send(link, out.data(), requests * ack_bytes, MSG_NOSIGNAL) < 0) close(link);
        }
    }
}
