#include "http/slow_reads.h"

#include <utility>

#include "base/thread_name.h"

namespace muster {

SlowReadThread::SlowReadThread() : thread_([this] { run(); }) {}

SlowReadThread::~SlowReadThread() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        waiting_.clear();
    }
    changed_.notify_one();
    thread_.join();
}

bool SlowReadThread::submit(std::function<void()> work) {
    {
        const std::lock_guard lock(mutex_);
        if (ending_ || waiting_.size() >= waiting_max) return false;
        waiting_.push_back(std::move(work));
    }
    changed_.notify_one();
    return true;
}

void SlowReadThread::run() {
    name_this_thread("history");
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
        if (ending_) return;
        const std::function<void()> work = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        work();
        lock.lock();
    }
}

}  // namespace muster
