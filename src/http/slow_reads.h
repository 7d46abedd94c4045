// Reads that may block on the disk, done elsewhere, so that the HTTP thread never blocks.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace muster {

// Any thread. The work neither throws nor waits for its own answer.
class SlowReads {
public:
    virtual ~SlowReads() = default;
    // False when too many wait.
    [[nodiscard]] virtual bool submit(std::function<void()> work) = 0;
};

// Runs them in order, on a thread of its own.
class SlowReadThread final : public SlowReads {
public:
    static constexpr std::size_t waiting_max = 32;

    SlowReadThread();
    // Waits for the read under way; the others are dropped.
    ~SlowReadThread() override;
    SlowReadThread(const SlowReadThread&) = delete;
    SlowReadThread& operator=(const SlowReadThread&) = delete;

    [[nodiscard]] bool submit(std::function<void()> work) override;

private:
    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_;  // guarded by mutex_
    bool ending_ = false;                        // guarded by mutex_
    std::thread thread_;
};

}  // namespace muster
