#include "runtime/wakeup.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include <unistd.h>

namespace muster {
namespace {

timespec to_timespec(Duration left) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    return {static_cast<std::time_t>(seconds.count()), static_cast<long>((left - seconds).count())};
}

}  // namespace

void Wakeup::wait_until(std::optional<Time> deadline) {
    State expected = State::running;
    if (state_.compare_exchange_strong(expected, State::asleep, std::memory_order_acq_rel)) sleep_until(deadline);
    state_.exchange(State::running, std::memory_order_acq_rel);
}

// One system call where an eventfd takes two, and its waker is cheaper too.
void Wakeup::sleep_until(std::optional<Time> deadline) {
    static_assert(sizeof state_ == sizeof(std::uint32_t) && std::atomic<State>::is_always_lock_free);
    timespec left{};
    if (deadline) left = to_timespec(std::max(*deadline - clock_.now(), Duration::zero()));
    // It returns at once when the word is no longer `asleep`. An interrupting signal ends the wait early, which a
    // waiter may.
    syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, State::asleep, deadline ? &left : nullptr, nullptr, 0);
}

void Wakeup::wake() {
    const int before = errno;
    syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    wakes_.fetch_add(1, std::memory_order_relaxed);
    errno = before;
}

}  // namespace muster
