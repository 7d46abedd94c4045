// Lets another thread wait until a worker has polled and read all of its sockets once more (L-8).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace muster {

class CatchUpRequest {
public:
    // Any thread: asks for a turn that begins from now on; the number is for wait(). Wake the worker after it.
    std::uint64_t ask() { return asked_.fetch_add(1, std::memory_order_acq_rel) + 1; }

    // Any thread: until that turn is over, but no longer than `limit`. False when it is not over by then.
    bool wait(std::uint64_t number, std::chrono::steady_clock::time_point limit) {
        std::unique_lock lock(mutex_);
        return over_changed_.wait_until(lock, limit, [&] { return over_ >= number; });
    }

    // Any thread: whether that turn is over.
    bool is_over(std::uint64_t number) {
        const std::lock_guard lock(mutex_);
        return over_ >= number;
    }

    // The worker, before it looks at its sockets. True when somebody waits for this turn: it must not wait itself.
    bool begin_turn() {
        begun_ = asked_.load(std::memory_order_acquire);
        return begun_ != told_;
    }

    // The worker, after it told the loop what it found. A turn that left sockets out does not count.
    void end_turn(bool looked_at_all) {
        if (!looked_at_all || begun_ == told_) return;
        told_ = begun_;
        {
            const std::lock_guard lock(mutex_);
            over_ = begun_;
        }
        over_changed_.notify_all();
    }

private:
    std::atomic<std::uint64_t> asked_{0};
    std::mutex mutex_;
    std::condition_variable over_changed_;
    std::uint64_t over_ = 0;  // guarded by mutex_

    // The worker's thread only.
    std::uint64_t begun_ = 0;
    std::uint64_t told_ = 0;
};

}  // namespace muster
