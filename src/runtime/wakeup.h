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

// Waits on an eventfd. A producer pays one atomic exchange, and the system call only when the loop sleeps.
//
// The protocol is one word that is `running`, `asleep` or `notified`:
//   - The loop, about to sleep, moves running -> asleep in one step. If the word is `notified` instead, something came
//     since the last wait: it does not sleep.
//   - A producer pushes its message first, then exchanges the word for `notified`. Only the one that finds `asleep`
//     there writes to the eventfd.
//   - The loop, woken by whatever, exchanges the word for `running`, and looks for messages after that.
// All steps are read-modify-write operations on the same word, so they have one order: either the producer comes first
// and the loop sees `notified` and, behind it, the message; or the loop comes first and the producer sees `asleep`. No
// wake-up is lost. A write that arrives after the loop woke by itself only ends the next wait early.
class Wakeup final : public Waiter {
public:
    // The clock is the one that deadlines come from, and outlives this. Throws std::system_error when the process may
    // open no more files.
    explicit Wakeup(const Clock& clock);
    Wakeup(const Wakeup&) = delete;
    Wakeup& operator=(const Wakeup&) = delete;
    ~Wakeup() override;

    void wait_until(std::optional<Time> deadline) override;

    // Also from a signal handler.
    void notify() override {
        if (state_.exchange(State::notified, std::memory_order_acq_rel) == State::asleep) write_event();
    }

    // Writes to the eventfd so far: how often a producer found the loop asleep.
    std::uint64_t wakes() const { return wakes_.load(std::memory_order_relaxed); }

private:
    enum class State : std::uint32_t { running, asleep, notified };

    void write_event();
    void sleep_until(std::optional<Time> deadline);

    const Clock& clock_;
    const int event_;
    std::atomic<State> state_{State::running};  // any thread
    std::atomic<std::uint64_t> wakes_{0};       // any thread
};

}  // namespace muster
