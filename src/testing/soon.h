// For tests of real threads and processes.
#pragma once

#include <chrono>
#include <thread>

namespace muster {

// Whether it comes true within a time that only a broken program needs.
inline bool soon(const auto& condition) {
    using namespace std::chrono_literals;
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (std::chrono::steady_clock::now() < end) {
        if (condition()) return true;
        std::this_thread::sleep_for(2ms);
    }
    return false;
}

}  // namespace muster
