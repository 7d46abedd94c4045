// What a worker waits on: its sockets, and a word from another thread.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "net/file_descriptor.h"

namespace muster {

// Edge-triggered: a socket is reported once for each time that something new came, and is registered once for its whole
// life. One thread waits; any thread may wake it.
class Poller {
public:
    // Sockets reported by one wait.
    static constexpr std::size_t events_max = 1024;

    // Throws std::system_error when the process may open no more files.
    Poller();

    // Reported with `name` until it is closed. False when the kernel has no room for it.
    [[nodiscard]] bool add(int socket, ConnectionId name);

    // Waits at most so long for sockets or for wake(), which is not reported; at once when wake() was called since the
    // last wait ended. Rounded up to whole milliseconds. What it returns is good until the next wait.
    std::span<const epoll_event> wait(Duration at_most);
    static ConnectionId name_of(const epoll_event& event) {
        return {static_cast<std::uint32_t>(event.data.u64), static_cast<std::uint32_t>(event.data.u64 >> 32)};
    }

    // Ends the present wait, or the next one. A system call only when the waiting thread sleeps. Any thread.
    void wake() {
        if (state_.exchange(State::woken, std::memory_order_acq_rel) == State::asleep) write_event();
    }

    // How often a thread found this one asleep and had to wake it.
    std::uint64_t wakes() const { return wakes_.load(std::memory_order_relaxed); }

private:
    enum class State : std::uint32_t { running, asleep, woken };

    void write_event();

    // The waiting thread.
    FileDescriptor epoll_;
    FileDescriptor event_;
    std::vector<epoll_event> events_;

    // Any thread.
    std::atomic<State> state_{State::running};
    std::atomic<std::uint64_t> wakes_{0};
};

}  // namespace muster
