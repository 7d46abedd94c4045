#include "runtime/wakeup.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "base/system_clock.h"

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("L-3: a wait ends at its deadline, not before") {
    const SystemClock clock;
    Wakeup wakeup(clock);
    const Time start = clock.now();
    wakeup.wait_until(start + 20ms);
    CHECK(clock.now() - start >= 20ms);
    wakeup.wait_until(start);
    CHECK(wakeup.wakes() == 0);
}

TEST_CASE("L-3: a notice given before the wait ends it at once, and is used up by that") {
    const SystemClock clock;
    Wakeup wakeup(clock);
    wakeup.notify();
    wakeup.notify();
    wakeup.wait_until(std::nullopt);
    CHECK(wakeup.wakes() == 0);  // nobody slept, so nobody paid for a system call
    const Time start = clock.now();
    wakeup.wait_until(start + 5ms);
    CHECK(clock.now() - start >= 5ms);
}

TEST_CASE("L-3: a notice from another thread ends a wait without deadline") {
    const SystemClock clock;
    Wakeup wakeup(clock);
    std::atomic<bool> waiting{false};
    std::thread notifier([&] {
        while (!waiting.load()) std::this_thread::yield();
        std::this_thread::sleep_for(2ms);  // so that the wait has most likely begun; it is right either way
        wakeup.notify();
    });
    waiting.store(true);
    wakeup.wait_until(std::nullopt);
    notifier.join();
    CHECK(wakeup.wakes() <= 1);
}

TEST_CASE("L-3: no wake-up is lost over 100,000 hand-offs between two threads") {
    constexpr int hand_offs = 100'000;
    const SystemClock clock;
    Wakeup ping(clock);
    Wakeup pong(clock);
    std::atomic<int> sent{0};
    std::atomic<int> answered{0};
    // A lost wake-up would let both sleep forever; this bound turns it into a failure.
    const auto wait = [&clock](Wakeup& wakeup, const std::atomic<int>& number, int wanted) {
        const Time bound = clock.now() + 20s;
        while (number.load(std::memory_order_relaxed) < wanted) {
            wakeup.wait_until(bound);
            if (clock.now() >= bound) return false;
        }
        return true;
    };

    bool echoed = true;
    std::thread echo([&] {
        for (int i = 1; i <= hand_offs && echoed; ++i) {
            echoed = wait(ping, sent, i);
            answered.store(i, std::memory_order_relaxed);
            pong.notify();
        }
    });
    bool heard = true;
    for (int i = 1; i <= hand_offs && heard; ++i) {
        sent.store(i, std::memory_order_relaxed);
        ping.notify();
        heard = wait(pong, answered, i);
    }
    echo.join();
    CHECK(echoed);
    CHECK(heard);
    CHECK(answered.load() == hand_offs);
}

TEST_CASE("L-3: with many notifiers the sleeper sees everything that was done before each notice") {
    constexpr int threads = 4;
    constexpr int each = 20'000;
    const SystemClock clock;
    Wakeup wakeup(clock);
    std::atomic<int> done{0};
    std::vector<std::thread> notifiers;
    for (int t = 0; t < threads; ++t) {
        notifiers.emplace_back([&] {
            for (int i = 0; i < each; ++i) {
                done.fetch_add(1, std::memory_order_relaxed);
                wakeup.notify();
            }
        });
    }
    const Time bound = clock.now() + 20s;
    while (done.load(std::memory_order_relaxed) < threads * each && clock.now() < bound) wakeup.wait_until(bound);
    CHECK(done.load() == threads * each);
    for (std::thread& notifier : notifiers) notifier.join();
}
