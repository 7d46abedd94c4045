#include "core/world_clock.h"

#include <doctest/doctest.h>

#include "base/random.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Time start{5h + 123ns};

TEST_CASE("O-4, C-1: the seed's game time tick: 0:59 to 1:00, 23:59 to the next day, day 7 to day 1") {
    const auto a_minute_after = [](const GameTime& time) { return game_time_of(minute_of(time) + 1); };
    CHECK(a_minute_after({1, 0, 59}) == GameTime{1, 1, 0});
    CHECK(a_minute_after({1, 23, 59}) == GameTime{2, 0, 0});
    CHECK(a_minute_after({7, 23, 59}) == GameTime{1, 0, 0});
}

TEST_CASE("C-1: the clock starts on Sunday 00:00, a game minute for a real one") {
    const WorldClock clock(start, GameTime{}, 1);
    CHECK(clock.at(start) == GameTime{1, 0, 0});
    CHECK(clock.at(start + 59'999'999'999ns) == GameTime{1, 0, 0});
    CHECK(clock.at(start + 60s) == GameTime{1, 0, 1});
    CHECK(clock.at(start + 7 * 24h) == GameTime{1, 0, 0});
}

TEST_CASE("C-4: each minute begins when it is first shown and not a nanosecond before, at any speed") {
    Random random(7);
    for (const std::int32_t speed : {1, 2, 7, 13, 60, 61, 59, 3599, 3600}) {
        const WorldClock clock(start, GameTime{3, 14, 30}, speed);
        for (int i = 0; i < 2'000; ++i) {
            const GameMinute minute = minute_of({3, 14, 30}) + 1 + static_cast<GameMinute>(random.below(30'000'000));
            const Time begin = clock.begin_of(minute);
            CHECK(clock.minute_at(begin) == minute);
            CHECK(clock.minute_at(begin - 1ns) == minute - 1);
        }
    }
}

TEST_CASE("C-4: a year at the highest speed drifts by nothing") {
    const WorldClock clock(start, GameTime{}, 3600);
    CHECK(clock.minute_at(start + 365 * 24h) == GameMinute{365} * 24 * 60 * 3600);
}

TEST_CASE("C-3: a stored clock goes on where it stood, also in another speed") {
    WorldClock clock(start, GameTime{7, 23, 58}, 60);
    const ClockRecord stored = clock.record(start + 1s + 500ms);
    CHECK(stored == ClockRecord{(std::int64_t{7} * 24 * 60 - 1) * 60'000 + 30'000, 60});
    const WorldClock again(Time(1s), stored, 30);
    CHECK(again.at(Time(1s)) == GameTime{7, 23, 59});
    CHECK(again.at(Time(2s)) == GameTime{1, 0, 0});
    CHECK(again.at(Time(1s + 999ms)) == GameTime{7, 23, 59});
}

TEST_CASE("C-3: a jump shows the new time at once, and a new speed changes nothing that is shown") {
    WorldClock clock(start, GameTime{}, 1);
    clock.set(start + 90s, GameTime{4, 12, 0});
    CHECK(clock.at(start + 90s) == GameTime{4, 12, 0});
    CHECK(clock.at(start + 149s) == GameTime{4, 12, 0});
    clock.set_speed(start + 149s, 3600);
    CHECK(clock.at(start + 149s) == GameTime{4, 12, 0});
    CHECK(clock.at(start + 150s) == GameTime{4, 13, 0});
}

}  // namespace
}  // namespace muster
