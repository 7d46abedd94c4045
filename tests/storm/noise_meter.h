// How late this machine wakes a thread that only sleeps: what no program on it can answer for.
#pragma once

#include <atomic>
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
        for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
            if (CPU_ISSET(processor, &allowed)) threads_.emplace_back([this, processor] { run(processor); });
        }
    }
    ~NoiseMeter() {
        ends_ = true;
        for (std::thread& thread : threads_) thread.join();
    }
    NoiseMeter(const NoiseMeter&) = delete;
    NoiseMeter& operator=(const NoiseMeter&) = delete;

    // How late each moment of the timetables came since the last call. Any thread.
    std::vector<Span> fetch() {
        const std::lock_guard lock(mutex_);
        return std::exchange(late_, {});
    }

private:
    void run(int processor) {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(processor, &only);
        ::pthread_setaffinity_np(::pthread_self(), sizeof only, &only);
        for (Moment due = now(); !ends_;) {
            std::this_thread::sleep_until(due);
            const std::lock_guard lock(mutex_);
            for (const Moment woke = now(); due <= woke; due += every) late_.push_back(woke - due);
        }
    }

    static constexpr Span every = 5ms;

    std::mutex mutex_;
    std::vector<Span> late_;  // guarded by mutex_
    std::atomic<bool> ends_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace muster::storm
