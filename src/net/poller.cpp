#include "net/poller.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

#include <unistd.h>

namespace muster {
namespace {

constexpr std::uint64_t wake_tag = ~std::uint64_t{0};

FileDescriptor opened(int number, const char* what) {
    if (number < 0) throw std::system_error(errno, std::generic_category(), what);
    return FileDescriptor(number);
}

int to_epoll_timeout(Duration wait) {
    const auto whole = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
    return static_cast<int>(std::clamp<std::int64_t>(whole, 0, std::numeric_limits<int>::max()));
}

}  // namespace

Poller::Poller()
    : epoll_(opened(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      event_(opened(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd")),
      events_(events_max) {
    // Edge-triggered, so that each write is reported and none needs to be read back.
    epoll_event interest{};
    interest.events = EPOLLIN | EPOLLET;
    interest.data.u64 = wake_tag;
    if (epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, event_.number(), &interest) != 0)
        throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

bool Poller::add(int socket, ConnectionId name) {
    epoll_event interest{};
    interest.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    interest.data.u64 = std::uint64_t{name.generation} << 32 | name.slot;
    return epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, socket, &interest) == 0;
}

// The word is `running`, `asleep` or `woken`, and every step reads and writes it at once, so that no wake-up is lost:
// either the waker came first and this thread sees `woken` and does not sleep, or the waker sees `asleep` and writes to
// the event.
std::span<const epoll_event> Poller::wait(Duration at_most) {
    int timeout = to_epoll_timeout(at_most);
    State expected = State::running;
    if (timeout != 0 && !state_.compare_exchange_strong(expected, State::asleep, std::memory_order_acq_rel))
        timeout = 0;
    const int found = epoll_wait(epoll_.number(), events_.data(), static_cast<int>(events_.size()), timeout);
    state_.exchange(State::running, std::memory_order_acq_rel);
    // An interrupting signal ends the wait early, without events.
    const auto first = events_.begin();
    const auto last = std::remove_if(first, first + std::max(found, 0),
                                     [](const epoll_event& event) { return event.data.u64 == wake_tag; });
    return {first, last};
}

void Poller::write_event() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(event_.number(), &one, sizeof one);
    wakes_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace muster
