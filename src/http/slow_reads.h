// A thread for reads that may block on the disk, so that the HTTP thread never does.
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
    static constexpr std::size_t waiting_max = 32;

    SlowReads();
    // Waits for the read under way; the others are dropped.
    ~SlowReads();
    SlowReads(const SlowReads&) = delete;
    SlowReads& operator=(const SlowReads&) = delete;

    // False when too many wait.
    [[nodiscard]] bool submit(std::function<void()> work);

private:
    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_;  // guarded by mutex_
    bool ending_ = false;                        // guarded by mutex_
    std::thread thread_;
};

}  // namespace muster
