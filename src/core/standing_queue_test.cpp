#include "core/standing_queue.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

#include <doctest/doctest.h>

#include "base/virtual_clock.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

// A loop that handles what waits in passes of 10 ms at most. Taking a request costs `taken_each`, refusing it little.
struct Flood {
    static constexpr Duration taken_each = 50us;  // so the capacity is 20,000 a second
    static constexpr Duration refused_each = 2us;

    Time now{};
    Time next_comes{};
    Duration comes_every;
    Duration others_run{0};  // after each pass the machine has other work for so long
    StandingQueue queue;
    std::deque<Time> waiting;
    std::vector<double> taken_ms;
    std::vector<double> refused_ms;

    explicit Flood(double times_the_capacity)
        : comes_every(std::chrono::duration_cast<Duration>(taken_each / times_the_capacity)) {}

    void pass() {
        const Time began = now;
        for (; next_comes <= now; next_comes += comes_every) waiting.push_back(next_comes);
        while (!waiting.empty() && now - began < 10ms) {
            const Time received = waiting.front();
            waiting.pop_front();
            const bool taken = queue.takes(began, received);
            now += taken ? taken_each : refused_each;
            (taken ? taken_ms : refused_ms).push_back(to_milliseconds(now - received));
        }
        now = now == began ? next_comes : now + others_run;
    }
    void run(Duration how_long) {
        for (const Time end = now + how_long; now < end;) pass();
    }
    void forget() {
        taken_ms.clear();
        refused_ms.clear();
    }
};

// The same, and each match takes five messages of game servers besides. Both have half of a pass.
struct FloodOfMatches {
    static constexpr Duration taken_each = 10us;
    static constexpr Duration refused_each = 2us;
    static constexpr Duration server_message_each = 18us;  // so the capacity is 10,000 a second
    static constexpr int server_messages = 5;
    static constexpr Duration pass_max = 3ms;

    Time now{};
    Time next_comes{};
    Duration comes_every;
    StandingQueue queue;
    std::deque<Time> requests;
    std::deque<Time> reports;
    std::vector<double> reported_ms;
    std::size_t refused = 0;

    explicit FloodOfMatches(double times_the_capacity)
        : comes_every(std::chrono::duration_cast<Duration>(100us / times_the_capacity)) {}

    void pass() {
        const Time began = now;
        for (; next_comes <= now; next_comes += comes_every) requests.push_back(next_comes);
        while (!reports.empty() && now - began < pass_max / 2) {
            queue.heard_server(began, reports.front());
            reported_ms.push_back(to_milliseconds(now - reports.front()));
            reports.pop_front();
            now += server_message_each;
        }
        while (!requests.empty() && now - began < pass_max) {
            const bool taken = queue.takes(began, requests.front());
            requests.pop_front();
            now += taken ? taken_each : refused_each;
            refused += taken ? 0 : 1;
            if (taken) reports.insert(reports.end(), server_messages, now);
        }
        if (now == began) now = next_comes;
    }
    void run(Duration how_long) {
        for (const Time end = now + how_long; now < end;) pass();
    }
};

double p99(std::vector<double> values) {
    const auto at = static_cast<std::ptrdiff_t>(static_cast<double>(values.size()) * 0.99);
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
}

}  // namespace

TEST_CASE("fault 66: at twice and five times what the loop can take, goodput stays and nobody waits long") {
    for (const double times : {2.0, 5.0}) {
        CAPTURE(times);
        Flood flood(times);
        flood.run(3s);
        flood.forget();
        flood.run(10s);
        const double goodput = static_cast<double>(flood.taken_ms.size()) / 10 / 20'000;
        MESSAGE(goodput, " of the capacity; p99 of who is taken ", p99(flood.taken_ms), " ms, of who is refused ",
                p99(flood.refused_ms), " ms");
        CHECK(goodput >= (times == 2 ? 0.9 : 0.75));  // each refusal costs a little as well
        CHECK(p99(flood.taken_ms) <= 40);
        CHECK(p99(flood.refused_ms) <= 40);
    }
}

TEST_CASE("fault 66: a machine that gives the loop a third of its time has a third of the goodput") {
    Flood flood(2);
    flood.others_run = 20ms;
    flood.run(3s);
    flood.forget();
    flood.run(10s);
    const double goodput = static_cast<double>(flood.taken_ms.size()) / 10 / 20'000;
    MESSAGE(goodput, " of the capacity; p99 of who is taken ", p99(flood.taken_ms), " ms");
    CHECK(goodput >= 0.25);
    CHECK(p99(flood.taken_ms) <= 100);
}

TEST_CASE("fault 66: requests are refused as well while what game servers say piles up behind them") {
    for (const double times : {2.0, 5.0}) {
        CAPTURE(times);
        FloodOfMatches flood(times);
        flood.run(3s);
        flood.reported_ms.clear();
        flood.run(10s);
        const double goodput =
            static_cast<double>(flood.reported_ms.size()) / FloodOfMatches::server_messages / 10 / 10'000;
        MESSAGE(goodput, " of the capacity; p99 of what servers say ", p99(flood.reported_ms), " ms");
        CHECK(goodput >= 0.75);
        CHECK(p99(flood.reported_ms) <= 40);
    }
    FloodOfMatches calm(0.5);
    calm.run(5s);
    CHECK(calm.refused == 0);
}

TEST_CASE("fault 66: a flood that begins is seen before it has queued for long") {
    FloodOfMatches flood(2);
    flood.run(3s);
    MESSAGE("p99 of what servers say ", p99(flood.reported_ms), " ms");
    CHECK(p99(flood.reported_ms) <= 100);
}

TEST_CASE("fault 66: nobody is refused below the capacity") {
    Flood flood(0.9);
    flood.run(5s);
    CHECK(flood.refused_ms.empty());
}

TEST_CASE("fault 66: a burst, and what waited for a stop to end, is taken") {
    Flood flood(0.5);
    flood.run(1s);
    flood.now += 90ms;  // 900 wait, and are handled within 90 ms
    flood.run(1s);
    CHECK(flood.refused_ms.empty());
}

TEST_CASE("fault 66: late requests that come one by one are no queue") {
    StandingQueue queue;
    Time now{};
    for (int i = 0; i < 100; ++i) {
        now += 200ms;
        CHECK(queue.takes(now, now - 50ms));
    }
}

TEST_CASE("fault 66: while the queue stands late requests are taken at a rate, and others always") {
    StandingQueue queue;
    Time now{};
    int taken = 0;
    for (int i = 0; i < 100; ++i) {
        now += 10ms;
        for (int k = 0; k < 100; ++k) taken += queue.takes(now, now - 20ms) ? 1 : 0;
    }
    CHECK(taken < 7'000);
    CHECK(taken > 2'000);
    CHECK(queue.takes(now, now - StandingQueue::wait_max));
    // None was late for a second: all are taken again.
    now += StandingQueue::memory + 2 * StandingQueue::interval;
    for (int k = 0; k < 1'000; ++k) CHECK(queue.takes(now, now - 20ms));
}
