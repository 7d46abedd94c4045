// A bounded queue from many producers to one consumer, made for batches: one lock per batch, not per message.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"

namespace muster {

// Any thread may push; one thread takes. Nothing ever waits: a full inbox refuses, and the producer holds its data back
// (B-1).
template <class T>
class Inbox {
public:
    explicit Inbox(std::size_t capacity) : capacity_(capacity) {
        MUSTER_CHECK(capacity > 0, "an inbox holds something");
    }

    // False, and `message` untouched, when the inbox is full.
    [[nodiscard]] bool push(T&& message) {
        const std::lock_guard lock(mutex_);
        if (waiting_.size() >= capacity_) return false;
        waiting_.push_back(std::move(message));
        size_.store(waiting_.size(), std::memory_order_release);
        return true;
    }

    // Moves as many as fit, from the front, and returns how many.
    [[nodiscard]] std::size_t push(std::span<T> batch) {
        const std::lock_guard lock(mutex_);
        const std::size_t count = std::min(batch.size(), capacity_ - waiting_.size());
        const auto end = batch.begin() + static_cast<std::ptrdiff_t>(count);
        waiting_.insert(waiting_.end(), std::make_move_iterator(batch.begin()), std::make_move_iterator(end));
        size_.store(waiting_.size(), std::memory_order_release);
        return count;
    }

    // Consumer only. Swaps what waits into `batch`, which must be empty and lends its memory to the next round.
    // False when nothing waited.
    bool take(std::vector<T>& batch) {
        MUSTER_CHECK(batch.empty(), "the batch taken before has been handled");
        if (size_.load(std::memory_order_acquire) == 0) return false;
        const std::lock_guard lock(mutex_);
        waiting_.swap(batch);
        size_.store(0, std::memory_order_release);
        return !batch.empty();
    }

    // Of the moment; another thread may change it at once.
    std::size_t size() const { return size_.load(std::memory_order_acquire); }
    std::size_t capacity() const { return capacity_; }

private:
    const std::size_t capacity_;
    std::atomic<std::size_t> size_{0};
    std::mutex mutex_;
    std::vector<T> waiting_;  // guarded by mutex_
};

}  // namespace muster
