// What waits for one watcher of a GameServer object.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "agones/calls.h"

namespace muster::agones {

// Any thread. A watcher that does not keep up loses the oldest changes, never the newest.
class Watch {
public:
    static constexpr std::size_t waiting_max = 16;

    void push(SharedGameServer server) {
        std::function<void()> wake;
        {
            const std::scoped_lock lock(mutex_);
            if (waiting_.size() >= waiting_max) waiting_.pop_front();
            waiting_.push_back(std::move(server));
            wake = wake_;
        }
        if (wake) wake();
    }

    // From now on `wake` is called after each push, on the pusher's thread; it must not block.
    void on_news(std::function<void()> wake) {
        const std::scoped_lock lock(mutex_);
        wake_ = std::move(wake);
    }

    std::optional<SharedGameServer> next() {
        const std::scoped_lock lock(mutex_);
        if (waiting_.empty()) return std::nullopt;
        SharedGameServer server = std::move(waiting_.front());
        waiting_.pop_front();
        return server;
    }

private:
    std::mutex mutex_;
    std::deque<SharedGameServer> waiting_;
    std::function<void()> wake_;
};

}  // namespace muster::agones
