#include "runtime/loop_time.h"

#include <chrono>

#include <doctest/doctest.h>

#include "base/virtual_clock.h"

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("L-2: inside a pass the time stands, between passes it is the clock's") {
    VirtualClock clock;
    LoopTime time(clock);
    clock.advance(5ms);
    CHECK(time.now() == clock.now());
    const Time begun = clock.now();
    CHECK(time.begin_pass(begun).number == 1);
    clock.advance(5ms);
    CHECK(time.now() == begun);
    CHECK(time.now(TimeBase::real) == begun);
    time.end_pass();
    CHECK(time.now() == begun + 5ms);
    CHECK(time.begin_pass(clock.now()).number == 2);
}

TEST_CASE("L-8: running time leaves gaps out, and a point of it can be found in real time") {
    VirtualClock clock;
    LoopTime time(clock);
    const Time start = clock.now();
    CHECK(time.running() == start);
    clock.advance(60s);
    time.stand_still(50s);
    CHECK(time.running() == start + 10s);
    CHECK(time.now(TimeBase::running) == start + 10s);
    CHECK(time.real_time_of(start + 10s) == clock.now());
    time.stand_still(1s);
    CHECK(time.stood_still() == 51s);
    const Pass pass = time.begin_pass(clock.now());
    CHECK(pass.now == start + 60s);
    CHECK(pass.running == start + 9s);
}
