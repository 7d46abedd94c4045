// The load that frames_bench puts on a server: many links, each with one heartbeat outstanding.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::bench {

// One thread. Every answer is checked byte for byte as far as it is known (the time in it is not).
class FramesLoad {
public:
    // Connects `links` sockets to 127.0.0.1:`port`. Throws std::runtime_error when it cannot.
    FramesLoad(std::uint16_t port, std::size_t links);
    ~FramesLoad();
    FramesLoad(const FramesLoad&) = delete;
    FramesLoad& operator=(const FramesLoad&) = delete;

    // Keeps one request outstanding on each link for `time`, and returns how many answers came. A request is still
    // outstanding on each link when it returns. Throws std::runtime_error on a wrong answer, a lost link, or silence.
    std::uint64_t run(std::chrono::nanoseconds time);

    // The same until `answers` came.
    std::uint64_t run_requests(std::uint64_t answers);

private:
    struct Link {
        int socket = -1;
        bool asked = false;
    };

    void ask(Link& link);
    std::uint64_t answers_of(int events_wait_ms);

    int poll_ = -1;
    std::vector<Link> links_;
    std::vector<epoll_event> events_;
};

// As many files as `links` need; throws std::runtime_error with what to do when the limit cannot be raised.
void raise_file_limit(std::size_t links);

}  // namespace muster::bench
