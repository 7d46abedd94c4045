#include "store/settled_date.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t minute_ms = 60'000;
constexpr std::int64_t hour_ms = 3'600'000;

struct Dates {
    Time now{};
    std::int64_t wall = 1'700'000'000'000;
    SettledDate date{now, UnixMs{wall}};

    void pass(std::chrono::milliseconds by) {
        now += by;
        wall += by.count();
    }
    std::int64_t seen() { return date.observe(now, UnixMs{wall}).value; }
};

}  // namespace

TEST_CASE_FIXTURE(Dates, "fault 18: the date is followed, and so is a step of up to an hour, or back") {
    pass(5min);
    CHECK(seen() == wall);
    wall += hour_ms;
    CHECK(seen() == wall);
    wall -= 200 * hour_ms;
    CHECK(seen() == wall);
}

TEST_CASE_FIXTURE(Dates, "fault 18: a date that is days ahead for a minute counts for nothing") {
    seen();
    const std::int64_t right = wall;
    wall += 200 * hour_ms;
    for (int i = 0; i < 9; ++i) {
        CHECK(seen() == right + i * minute_ms);
        pass(1min);
    }
    wall -= 200 * hour_ms;
    CHECK(seen() == wall);
    // The next time it has to last anew.
    wall += 200 * hour_ms;
    pass(5min);
    CHECK(seen() == wall - 200 * hour_ms);
}

TEST_CASE_FIXTURE(Dates, "fault 18: a date that stays ahead for ten minutes is believed") {
    wall += 200 * hour_ms;
    CHECK(seen() == wall - 200 * hour_ms);
    pass(SettledDate::believed_after - 1s);
    CHECK(seen() == wall - 200 * hour_ms);
    pass(1s);
    CHECK(seen() == wall);
}

TEST_CASE_FIXTURE(Dates, "fault 18: a date that is two hours ahead makes no other date believed before its time") {
    seen();
    const std::int64_t before = wall;
    wall += 2 * hour_ms;
    for (int i = 0; i < 9; ++i) {
        CHECK(seen() == before + i * minute_ms);
        pass(1min);
    }
    // Days ahead for three minutes, while the smaller step has not lasted for ten yet.
    wall += 200 * hour_ms;
    for (int i = 9; i < 12; ++i) {
        CHECK(seen() == before + i * minute_ms);
        pass(1min);
    }
    // Back at the smaller step: that has to last anew.
    wall -= 200 * hour_ms;
    for (int i = 12; i < 22; ++i) {
        CHECK(seen() == before + i * minute_ms);
        pass(1min);
    }
    CHECK(seen() == wall);
}

TEST_CASE_FIXTURE(Dates, "fault 18: a date that came back and jumped elsewhere between two looks has not lasted") {
    seen();
    const std::int64_t before = wall;
    for (int i = 0; i < 20; ++i) {
        const std::int64_t ahead = (i % 2 == 0 ? 200 : 300) * hour_ms;
        wall += ahead;
        CHECK(seen() == before + i * minute_ms);
        wall -= ahead;
        pass(1min);
    }
}

TEST_CASE_FIXTURE(Dates, "fault 18: small steps of a date that is ahead do not keep it from being believed") {
    seen();
    wall += 200 * hour_ms;
    for (int i = 0; i < 10; ++i) {
        CHECK(seen() < wall);
        pass(1min);
        wall += i % 2 == 0 ? hour_ms : -hour_ms;
    }
    CHECK(seen() == wall);
}

TEST_CASE("fault 18: of what a store was left with, no jump of the last ten minutes counts, however many there were") {
    const std::int64_t start = 1'700'000'000'000;
    const auto lasted = [](std::initializer_list<std::int64_t> latest_first) {
        LastedDate date;
        for (const std::int64_t written : latest_first) {
            if (!date.add(UnixMs{written})) break;
        }
        return date.date();
    };
    CHECK_FALSE(lasted({}).has_value());
    CHECK(lasted({start}) == UnixMs{start});
    // Days ahead a minute ago, and another hour while it was: what is left is the minute, and a second.
    CHECK(lasted({start + 301 * hour_ms + 61'000, start + 301 * hour_ms + 1'000, start + 300 * hour_ms, start}) ==
          UnixMs{start + 60'000});
    // A small step meanwhile proves no more than a minute.
    CHECK(lasted({start + 300 * hour_ms + 1'800'000, start + 300 * hour_ms, start}) == UnixMs{start + 1'800'000});
    // Back again.
    CHECK(lasted({start + 60'000, start + 300 * hour_ms, start}) == UnixMs{start + 60'000});

    LastedDate date;
    std::int64_t written = start + 300 * hour_ms;
    int minutes = 0;
    for (bool more = true; more; written -= 60'000) {
        more = date.add(UnixMs{written});
        ++minutes;
    }
    CHECK(minutes == 11);
    CHECK(date.date() == UnixMs{start + 300 * hour_ms});
}
