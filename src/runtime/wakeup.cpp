#include "runtime/wakeup.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>

#include <poll.h>
#include <unistd.h>

namespace muster {
namespace {

int open_event() {
    const int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (event < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    return event;
}

timespec to_timespec(Duration left) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    return {static_cast<std::time_t>(seconds.count()), static_cast<long>((left - seconds).count())};
}

}  // namespace

Wakeup::Wakeup(const Clock& clock) : clock_(clock), event_(open_event()) {}

Wakeup::~Wakeup() {
    close(event_);
}

void Wakeup::wait_until(std::optional<Time> deadline) {
    State expected = State::running;
    if (state_.compare_exchange_strong(expected, State::asleep, std::memory_order_acq_rel)) sleep_until(deadline);
    state_.exchange(State::running, std::memory_order_acq_rel);
}

void Wakeup::sleep_until(std::optional<Time> deadline) {
    timespec left{};
    if (deadline) left = to_timespec(std::max(*deadline - clock_.now(), Duration::zero()));
    pollfd waited{event_, POLLIN, 0};
    // An interrupting signal ends the wait early, which a waiter may.
    const int ready = ppoll(&waited, 1, deadline ? &left : nullptr, nullptr);
    if (ready <= 0) return;
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t drained = read(event_, &count, sizeof count);
}

void Wakeup::write_event() {
    const int before = errno;
    const std::uint64_t one = 1;
    // It cannot fail but by a full counter, which would mean that the loop is woken already.
    [[maybe_unused]] const ssize_t written = write(event_, &one, sizeof one);
    wakes_.fetch_add(1, std::memory_order_relaxed);
    errno = before;
}

}  // namespace muster
