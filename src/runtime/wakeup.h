// How an idle loop waits, and how other threads end that wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace muster {

// What a loop waits on. Only the loop's thread waits; any thread may notify.
class Waiter {
public:
    virtual ~Waiter() = default;

    // Returns when `deadline` has come (never, when there is none), or as soon as somebody notifies; at once when that
    // happened since the last wait ended. It may also return early for no reason.
    virtual void wait_until(std::optional<Time> deadline) = 0;

    // Ends the present wait, or the next one. What the caller did before is seen by the loop after it.
    virtual void notify() = 0;
};

// Waits on a futex. A producer pays one atomic exchange, and the system call only when the loop sleeps.
//
// The protocol is one word that is `running`, `asleep` or `notified`:
//   - The loop, about to sleep, moves running -> asleep in one step. If the word is `notified` instead, something came
//     since the last wait: it does not sleep.
//   - A producer pushes its message first, then exchanges the word for `notified`. Only the one that finds `asleep`
//     there wakes the futex.
//   - The loop, woken by whatever, exchanges the word for `running`, and looks for messages after that.
// All steps are read-modify-write operations on the same word, so they have one order: either the producer comes first
// and the loop sees `notified` and, behind it, the message; or the loop comes first and the producer sees `asleep`. No
// wake-up is lost: the kernel compares the word once more before it lets the loop sleep.
class Wakeup final : public Waiter {
public:
    // The clock is the one that deadlines come from, and outlives this.
    explicit Wakeup(const Clock& clock) : clock_(clock) {}
    Wakeup(const Wakeup&) = delete;
    Wakeup& operator=(const Wakeup&) = delete;

    void wait_until(std::optional<Time> deadline) override;

    // Also from a signal handler.
    void notify() override {
        if (state_.exchange(State::notified, std::memory_order_acq_rel) == State::asleep) wake();
    }

    // How often a producer found the loop asleep and woke it.
    std::uint64_t wakes() const { return wakes_.load(std::memory_order_relaxed); }

private:
    enum class State : std::uint32_t { running, asleep, notified };

    void wake();
    void sleep_until(std::optional<Time> deadline);

    const Clock& clock_;
    std::atomic<State> state_{State::running};  // any thread
    std::atomic<std::uint64_t> wakes_{0};       // any thread
};

}  // namespace muster
