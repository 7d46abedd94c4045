// How late this machine wakes a thread that only sleeps: what no program on it can answer for.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sched.h>

#include "moment.h"

namespace muster::storm {

// A thread on each processor, since a hypervisor may take one of them away and leave the other. Each has a fixed
// timetable: a pause counts for every moment of it, as it does for peers that ask all the while, and not once.
class NoiseMeter {
public:
    NoiseMeter() {
        cpu_set_t allowed;
        CPU_ZERO(&allowed);
        ::sched_getaffinity(0, sizeof allowed, &allowed);
        due_.assign(static_cast<std::size_t>(CPU_COUNT(&allowed)), now());
        for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
            if (!CPU_ISSET(processor, &allowed)) continue;
            threads_.emplace_back([this, processor, number = threads_.size()] { run(processor, number); });
        }
    }
    ~NoiseMeter() {
        ends_ = true;
        for (std::thread& thread : threads_) thread.join();
    }
    NoiseMeter(const NoiseMeter&) = delete;
    NoiseMeter& operator=(const NoiseMeter&) = delete;

    // How late the next moment of a timetable is by now: of a thread that still sleeps. Any thread.
    Span overdue() {
        const std::lock_guard lock(mutex_);
        Span most{};
        for (const Moment due : due_) most = std::max(most, now() - due);
        return most;
    }
    // How late each moment of the timetables came since the last call. Any thread.
    std::vector<Span> fetch() {
        const std::lock_guard lock(mutex_);
        return std::exchange(late_, {});
    }

private:
    void run(int processor, std::size_t number) {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(processor, &only);
        ::pthread_setaffinity_np(::pthread_self(), sizeof only, &only);
        for (Moment due = now(); !ends_;) {
            std::this_thread::sleep_until(due);
            const std::lock_guard lock(mutex_);
            for (const Moment woke = now(); due <= woke; due += every) late_.push_back(woke - due);
            due_[number] = due;
        }
    }

    static constexpr Span every = 5ms;

    std::mutex mutex_;
    std::vector<Span> late_;   // guarded by mutex_
    std::vector<Moment> due_;  // the same: of each thread
    std::atomic<bool> ends_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace muster::storm
