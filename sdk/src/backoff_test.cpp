#include "sdk/src/backoff.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

namespace muster::sdk {

using namespace std::chrono_literals;

TEST_CASE("fault 28: the pauses double from 100 ms to a cap of 10 s, each drawn evenly from nothing to its most") {
    constexpr int clients = 4'000;
    const Duration most[] = {100ms, 200ms, 400ms, 800ms, 1'600ms, 3'200ms, 6'400ms, 10s, 10s};
    std::vector<Backoff> all;
    for (int i = 0; i < clients; ++i) all.emplace_back(static_cast<std::uint64_t>(i));
    for (const Duration limit : most) {
        Duration sum{};
        Duration longest{};
        int early = 0;
        for (Backoff& backoff : all) {
            const Duration pause = backoff.next();
            CHECK(pause >= Duration::zero());
            sum += pause;
            longest = std::max(longest, pause);
            early += pause < limit / 10 ? 1 : 0;
        }
        CHECK(longest <= limit);
        CHECK(longest > limit * 99 / 100);
        CHECK(sum / clients > limit * 48 / 100);
        CHECK(sum / clients < limit * 52 / 100);
        CHECK(early > clients / 12);  // full jitter: a tenth of them in the first tenth
        CHECK(early < clients / 8);
    }
}

TEST_CASE("fault 28: a link that works starts the pauses anew, and a seed gives the same pauses") {
    Backoff backoff(1);
    for (int i = 0; i < 20; ++i) backoff.next();
    backoff.reset();
    CHECK(backoff.next() <= 100ms);

    Backoff same(7);
    backoff = Backoff(0);
    backoff.seed(7);
    for (int i = 0; i < 20; ++i) CHECK(backoff.next() == same.next());
}

}  // namespace muster::sdk
