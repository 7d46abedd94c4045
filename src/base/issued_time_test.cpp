#include "base/issued_time.h"

#include <doctest/doctest.h>

#include "base/random.h"
#include "base/virtual_clock.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct Issuing {
    VirtualClock clock;
    UnixMs start = clock.wall();
    IssuedTime issued{clock.now(), clock.wall()};

    void run(Duration total) {
        for (Duration done{0}; done < total; done += 100ms) {
            clock.advance(100ms);
            issued.observe(clock.now(), clock.wall());
        }
    }
    std::int64_t ahead() { return issued.at(clock.now()).value - clock.wall().value; }
};

}  // namespace

TEST_CASE_FIXTURE(Issuing, "X-6: issued time is the date at start plus the time that ran") {
    clock.advance(12'345ms);
    CHECK(issued.at(clock.now()).value == start.value + 12'345);
}

TEST_CASE_FIXTURE(Issuing, "X-6: a forward step of the date is followed at once") {
    clock.step_wall(1h);
    CHECK(issued.observe(clock.now(), clock.wall()));
    clock.advance(1ms);
    CHECK(ahead() == 0);
    CHECK(issued.steps_seen() == 1);
}

TEST_CASE_FIXTURE(Issuing,
                  "fault 15, X-6: after a backward step issued time stands still, then slews, and never goes back") {
    run(5s);
    const std::int64_t before = issued.at(clock.now()).value;
    clock.step_wall(-10s);
    CHECK(issued.observe(clock.now(), clock.wall()));
    clock.advance(1s);
    CHECK(issued.at(clock.now()).value == before);  // standing still
    clock.advance(2s);
    CHECK(issued.at(clock.now()).value == before + 1'000);  // half speed
    run(20s);
    CHECK(ahead() == 0);
}

TEST_CASE_FIXTURE(Issuing, "X-6: in microseconds it runs evenly, though the machine's date comes in milliseconds") {
    const std::int64_t begun = issued.us_at(clock.now());
    for (int i = 1; i <= 10'000; ++i) {
        clock.advance(333'333ns);
        issued.observe(clock.now(), clock.wall());
        CHECK(issued.us_at(clock.now()) - begun == std::int64_t{i} * 333'333 / 1'000);
    }
    CHECK(issued.at(clock.now()).value == issued.us_at(clock.now()) / 1'000);
    CHECK(issued.steps_seen() == 0);
}

TEST_CASE("fault 15, X-6: over any steps, to 1970 and past 2038, issued time never goes backwards") {
    Random random(15);
    Issuing world;
    std::int64_t last = world.issued.at(world.clock.now()).value;
    for (int i = 0; i < 100'000; ++i) {
        world.clock.advance(Duration(random.between(0, 3'000'000'000)));
        if (random.chance(0.01))
            world.clock.step_wall(std::chrono::milliseconds(random.between(-3'600'000, 3'600'000)));
        if (i == 30'000) world.clock.step_wall(-std::chrono::milliseconds(world.clock.wall().value));
        if (i == 60'000) world.clock.step_wall(std::chrono::milliseconds(2'200'000'000'000));
        if (random.chance(0.5)) world.issued.observe(world.clock.now(), world.clock.wall());
        const std::int64_t now = world.issued.at(world.clock.now()).value;
        if (now < last) FAIL("went back from " << last << " to " << now << " at step " << i);
        last = now;
    }
    CHECK(last > 2'200'000'000'000);
}
