// Progress on standard error: a bar where the end is known, and the seconds where it is not. Draws nothing unless that
// is a terminal, and nothing in the first moments, so that what is quick stays quiet.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace muster {

// Redraws by itself, on a thread of its own, until it goes. Any thread may call it.
class Progress {
public:
    // Nobody waits for a bar for less than this.
    static constexpr std::chrono::milliseconds quiet_for{500};

    explicit Progress(std::string what);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void now(std::string what);
    // 0 to 1; below 0 while the end is not known.
    void share(double done);
    // Standard output or error is about to be written by `write`: the bar makes way.
    template <class Write>
    void aside(Write&& write) {
        const std::lock_guard lock(mutex_);
        clear();
        write();
    }

private:
    void draw();
    void clear();

    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::mutex mutex_;  // guards all below
    std::condition_variable ending_;
    std::string what_;
    double done_ = -1;
    bool shown_ = false;
    bool over_ = false;
    std::thread drawer_;  // last: it uses the others
};

}  // namespace muster
