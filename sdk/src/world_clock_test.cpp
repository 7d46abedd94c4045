#include "sdk/src/world_clock.h"

#include <cstdint>
#include <limits>
#include <string_view>

#include <doctest/doctest.h>

#include "muster/frames.h"

namespace muster::sdk {

using Taken = WorldClock::Taken;

TEST_CASE("P-11: an hour sets the hour, a minute the minute, a day the day and hour 0, an update all three") {
    WorldClock clock;
    CHECK_FALSE(clock.time());
    CHECK(clock.take(TimeUpdate{.day = 3, .hour = 14, .minute = 30}) == Taken::changed);
    CHECK(clock.time() == WorldTime{3, 14, 30});
    CHECK(clock.take(TimeChange{TimeUnit::hour, 15}) == Taken::changed);
    CHECK(clock.time() == WorldTime{3, 15, 30});
    CHECK(clock.take(TimeChange{TimeUnit::minute, 59}) == Taken::changed);
    CHECK(clock.time() == WorldTime{3, 15, 59});
    CHECK(clock.take(TimeChange{TimeUnit::day, 4}) == Taken::changed);
    CHECK(clock.time() == WorldTime{4, 0, 59});
    CHECK(clock.take(TimeChange{TimeUnit::minute, 0}) == Taken::changed);
    CHECK(clock.time() == WorldTime{4, 0, 0});
}

TEST_CASE("P-11: what changes nothing is not a change, but the first time is one") {
    WorldClock clock;
    CHECK(clock.take(TimeUpdate{.day = 1, .hour = 0, .minute = 0}) == Taken::changed);
    CHECK(clock.take(TimeUpdate{.day = 1, .hour = 0, .minute = 0}) == Taken::same);
    CHECK(clock.take(TimeChange{TimeUnit::hour, 0}) == Taken::same);
    CHECK(clock.take(TimeChange{TimeUnit::day, 1}) == Taken::same);
}

TEST_CASE("O-4: a change that comes before anything else is one of Sunday, midnight") {
    WorldClock clock;
    CHECK(clock.take(TimeChange{TimeUnit::hour, 1}) == Taken::changed);
    CHECK(clock.time() == WorldTime{1, 1, 0});
}

TEST_CASE("C-1: the last minute, hour and day are taken, and the first beyond them changes nothing") {
    WorldClock clock;
    CHECK(clock.take(TimeUpdate{.day = 7, .hour = 23, .minute = 59}) == Taken::changed);
    for (const TimeUpdate& bad : {TimeUpdate{0, 0, 0}, TimeUpdate{8, 0, 0}, TimeUpdate{1, 24, 0}, TimeUpdate{1, 0, 60},
                                  TimeUpdate{255, 255, 255}}) {
        CHECK(clock.take(bad) == Taken::out_of_range);
    }
    for (const TimeChange& bad : {TimeChange{TimeUnit::day, 0}, TimeChange{TimeUnit::day, 8},
                                  TimeChange{TimeUnit::hour, 24}, TimeChange{TimeUnit::minute, 60}}) {
        CHECK(clock.take(bad) == Taken::out_of_range);
    }
    CHECK(clock.time() == WorldTime{7, 23, 59});
}

TEST_CASE("P-11: days have the names Sun. to Sat., and no other number has one") {
    constexpr std::string_view names[] = {"", "Sun.", "Mon.", "Tue.", "Wed.", "Thu.", "Fri.", "Sat.", ""};
    for (int day = 0; day <= 8; ++day) CHECK(day_name(day) == names[day]);
    CHECK(day_name(-1).empty());
}

TEST_CASE("P-11: night is from 20:00 on and up to 8:59") {
    for (int hour = 0; hour < 24; ++hour) {
        CAPTURE(hour);
        CHECK(is_night(hour) == !(hour >= 9 && hour <= 19));
    }
}

TEST_CASE("O-4: 6, 30 and 60 frames at 60 per second are 100, 500 and 1000 ms") {
    CHECK(frames_to_ping_ms(6, 60) == 100);
    CHECK(frames_to_ping_ms(30, 60) == 500);
    CHECK(frames_to_ping_ms(60, 60) == 1000);
}

TEST_CASE("P-3: frames become milliseconds in 64 bits, stop at the largest number, and no frame rate gives 0") {
    constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
    CHECK(frames_to_ping_ms(6, 0) == 0);
    CHECK(frames_to_ping_ms(0, 60) == 0);
    CHECK(frames_to_ping_ms(1, 144) == 6);                  // 6.94…
    CHECK(frames_to_ping_ms(5'000'000, 60) == 83'333'333);  // frames × 1000 does not fit 32 bits
    CHECK(frames_to_ping_ms(most, 1000) == most);
    CHECK(frames_to_ping_ms(most, 999) == most);
    CHECK(frames_to_ping_ms(most, most) == 1000);
    CHECK(frames_to_ping_ms(most, 1) == most);
}

}  // namespace muster::sdk
