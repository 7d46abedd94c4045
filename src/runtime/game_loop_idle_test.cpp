// The loop on a thread of its own, with real waits and messages from other threads (L-3).
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "base/system_clock.h"
#include "runtime/game_loop.h"
#include "runtime/loop_fixture.h"
#include "runtime/mailbox.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

#ifdef NDEBUG
constexpr std::uint64_t hand_offs = 100'000;
#else
constexpr std::uint64_t hand_offs = 20'000;
#endif

struct Number {
    static constexpr std::string_view name = "number";
    std::uint64_t value = 0;
};

struct IdleFixture {
    ~IdleFixture() { stop(); }

    void start() {
        thread = std::thread([this] { loop.run(wakeup); });
    }
    void stop() {
        loop.stop();
        join();
    }
    // The loop is the test's own again afterwards.
    void join() {
        if (thread.joinable()) thread.join();
        loop.bind_to_this_thread();
    }
    // Waits until so many were handled. A lost wake-up would let this wait forever; the bound turns it into a failure.
    bool wait_for(std::uint64_t number) {
        const Time bound = clock.now() + 20s;
        while (count.load() < number && clock.now() < bound) handled.wait_until(bound);
        return count.load() >= number;
    }

    SystemClock clock;
    KeptLines kept;
    Log log{clock, kept};
    Wakeup wakeup{clock};
    Wakeup handled{clock};
    std::atomic<std::uint64_t> count{0};
    Mailbox<Number> mailbox{"numbers", 1'024, wakeup, [this](const Pass&, Number&) {
                                count.fetch_add(1);
                                handled.notify();
                            }};
    GameLoop loop{clock, log};
    std::thread thread;
};

}  // namespace

TEST_CASE_FIXTURE(IdleFixture, "L-3: a message that arrives in the idle wait is handled at once") {
    loop.add_source(mailbox);
    start();
    for (std::uint64_t i = 1; i <= 20; ++i) {
        std::this_thread::sleep_for(1ms);  // so that the loop is most likely asleep; it is right either way
        CHECK(mailbox.post({i}));
        CHECK(wait_for(i));
    }
    stop();
    CHECK(loop.figures().idle_sleeps > 0);
    CHECK(loop.figures().messages_handled == 20);
}

TEST_CASE_FIXTURE(IdleFixture,
                  "L-3: no message is lost or left lying over many hand-offs to a loop that falls asleep in between") {
    loop.add_source(mailbox);
    start();
    bool all = true;
    for (std::uint64_t i = 1; i <= hand_offs && all; ++i) all = mailbox.post({i}) && wait_for(i);
    CHECK(all);
    stop();
    CHECK(count.load() == hand_offs);
}

TEST_CASE_FIXTURE(IdleFixture, "L-3: several producers at once, and a full mailbox, lose nothing") {
    loop.add_source(mailbox);
    start();
    constexpr std::uint64_t each = 50'000;
    std::vector<std::thread> producers;
    producers.reserve(3);
    for (int p = 0; p < 3; ++p) {
        producers.emplace_back([this] {
            for (std::uint64_t i = 0; i < each;) {
                if (mailbox.post({1})) {
                    ++i;
                } else {
                    std::this_thread::yield();
                }
            }
        });
    }
    for (std::thread& producer : producers) producer.join();
    CHECK(wait_for(3 * each));
    CHECK(count.load() == 3 * each);
}

TEST_CASE_FIXTURE(IdleFixture, "L-3: a timer ends the idle wait, and an idle loop makes few passes") {
    std::atomic<int> fired{0};
    const Time begun = clock.now();
    REQUIRE(loop.timers().every(10ms, [&](const TimerFired&) {
        if (++fired == 10) loop.stop();
    }));
    start();
    join();
    const Duration took = clock.now() - begun;
    CHECK(fired == 10);
    CHECK(took >= 100ms);
    // For each timer one pass that fires it and one that finds nothing, and a few where the wheel turns a ring.
    CHECK(loop.figures().ticks <= 30);
}

TEST_CASE_FIXTURE(IdleFixture, "L-3: stop ends a loop that waits, and one that has not begun") {
    start();
    std::this_thread::sleep_for(2ms);
    stop();
    loop.run(wakeup);
    CHECK(loop.figures().ticks <= 3);
}

TEST_CASE("L-3: with idle off the loop spins and still handles what comes") {
    const SystemClock clock;
    KeptLines kept;
    Log log(clock, kept);
    Wakeup wakeup(clock);
    GameLoop loop(clock, log, {.idle_cpu_enabled = false});
    std::atomic<bool> handled{false};
    Mailbox<Number> mailbox("numbers", 16, wakeup, [&](const Pass&, Number&) {
        handled = true;
        loop.stop();
    });
    loop.add_source(mailbox);
    std::thread thread([&] { loop.run(wakeup); });
    CHECK(mailbox.post({1}));
    thread.join();
    loop.bind_to_this_thread();
    CHECK(handled);
    CHECK(loop.figures().idle_sleeps == 0);
}

TEST_CASE_FIXTURE(IdleFixture,
                  "L-3: a pass that left nothing is followed by a wait, not by a pass that finds nothing") {
    loop.add_source(mailbox);
    start();
    for (std::uint64_t i = 1; i <= 20; ++i) {
        std::this_thread::sleep_for(1ms);
        CHECK(mailbox.post({i}));
        CHECK(wait_for(i));
    }
    stop();
    // One that found nothing comes before the first message, and one may come with the stop.
    CHECK(loop.figures().ticks <= 22);
}
