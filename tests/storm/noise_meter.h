// How late this machine wakes a thread that only sleeps: what no program on it can answer for.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "moment.h"

namespace muster::storm {

class NoiseMeter {
public:
    NoiseMeter() : thread_([this] { run(); }) {}
    ~NoiseMeter() {
        ends_ = true;
        thread_.join();
    }
    NoiseMeter(const NoiseMeter&) = delete;
    NoiseMeter& operator=(const NoiseMeter&) = delete;

    // How late each wake-up was since the last call. Any thread.
    std::vector<Span> fetch() {
        const std::lock_guard lock(mutex_);
        return std::exchange(late_, {});
    }

private:
    void run() {
        while (!ends_) {
            const Moment due = now() + 5ms;
            std::this_thread::sleep_until(due);
            const Span late = now() - due;
            const std::lock_guard lock(mutex_);
            late_.push_back(late);
        }
    }

    std::mutex mutex_;
    std::vector<Span> late_;  // guarded by mutex_
    std::atomic<bool> ends_ = false;
    std::thread thread_;
};

}  // namespace muster::storm
