// Until when an owner may answer what it promised (N-4): fencing protects data, not words.
#pragma once

#include <atomic>

#include "base/time.h"

namespace muster {

// Any thread. Times are of a clock that a suspended machine does not stop.
class AnswerWindow {
public:
    // Answers end this much before another node may own the cell.
    static constexpr std::chrono::seconds margin{1};

    // `silence` is after which another node may take the cell.
    explicit AnswerWindow(Duration silence) : open_for_(silence - margin) {}

    // A batch that was sent at that time has become durable: nobody saw the owner silent before that.
    void committed(Duration sent) { until_.store((sent + open_for_).count(), std::memory_order_release); }
    bool is_open(Duration now) const { return now.count() < until_.load(std::memory_order_acquire); }

private:
    const Duration open_for_;
    std::atomic<Duration::rep> until_{0};
};

// Whether an owner commits though it has nothing to write: answers wait for it, or the others have not heard of it for
// half of the lease (N-3, N-4).
inline bool must_commit(const AnswerWindow& window, Duration now, Duration since_last, Duration lease) {
    return !window.is_open(now) || since_last >= lease / 2;
}

}  // namespace muster
