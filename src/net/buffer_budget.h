// How much memory the bytes of all connections may take together (fault 8, invariant 18).
#pragma once

#include <atomic>
#include <cstddef>

namespace muster {

// Any thread.
class BufferBudget {
public:
    explicit BufferBudget(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    // False, and nothing taken, when that is more than is left.
    [[nodiscard]] bool take(std::size_t bytes) {
        if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= bytes_max_.load(std::memory_order_relaxed))
            return true;
        give_back(bytes);
        return false;
    }
    void give_back(std::size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

    void set_max(std::size_t bytes_max) { bytes_max_.store(bytes_max, std::memory_order_relaxed); }
    std::size_t used() const { return used_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::size_t> bytes_max_;
    std::atomic<std::size_t> used_{0};
};

}  // namespace muster
