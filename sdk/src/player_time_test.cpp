#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "muster/player.h"
#include "sdk/src/player_fixture.h"

namespace muster::sdk {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

namespace {

// What Muster's calendar says a minute later, and how it tells players (C-2).
struct Calendar {
    WorldTime time{};

    void next_minute(TestLink<Port::players>& muster) {
        time.minute = static_cast<std::uint8_t>((time.minute + 1) % 60);
        if (time.minute != 0) return muster.say(TimeChange{TimeUnit::minute, time.minute});
        time.hour = static_cast<std::uint8_t>((time.hour + 1) % 24);
        if (time.hour != 0) {
            muster.say(TimeChange{TimeUnit::hour, time.hour});
        } else {
            time.day = static_cast<std::uint8_t>(time.day % 7 + 1);
            muster.say(TimeChange{TimeUnit::day, time.day});
        }
        muster.say(TimeChange{TimeUnit::minute, 0});
    }
};

std::int64_t us(Time time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

constexpr std::int64_t date_us = 1'700'000'000'000'000;

}  // namespace

TEST_CASE_FIXTURE(PlayerFixture, "C-3: the whole time after the login, then each change, told when it is one") {
    logged_in();
    CHECK_FALSE(player.world_time());
    muster.say(TimeUpdate{.day = 7, .hour = 23, .minute = 58});
    muster.say(TimeUpdate{.day = 7, .hour = 23, .minute = 58});
    muster.say(TimeChange{TimeUnit::minute, 59});
    muster.say(TimeChange{TimeUnit::day, 1});
    muster.say(TimeChange{TimeUnit::minute, 0});
    CHECK(noted() == Lines{"time Sat. 23:58", "time Sat. 23:59", "time Sun. 0:59", "time Sun. 0:0"});
    CHECK(player.world_time() == WorldTime{1, 0, 0});

    muster.lose();
    CHECK(player.world_time() == WorldTime{1, 0, 0});
    muster.advance(1s);
    muster.connect();
    greet();
    noted();
    muster.say(TimeUpdate{.day = 1, .hour = 0, .minute = 5});
    CHECK(noted() == Lines{"time Sun. 0:5"});
}

TEST_CASE_FIXTURE(PlayerFixture, "C-1: the three clock messages of the specification, as bytes") {
    const auto bytes = [](std::initializer_list<int> numbers) {
        std::vector<std::byte> all;
        for (const int number : numbers) all.push_back(static_cast<std::byte>(number));
        return all;
    };
    logged_in();
    muster.say_bytes(bytes({0, 4, 0, 0x15, 2, 0x1e}));
    CHECK(player.world_time() == WorldTime{1, 0, 30});
    muster.say_bytes(bytes({0, 4, 0, 0x15, 3, 2}));
    CHECK(player.world_time() == WorldTime{2, 0, 30});
    muster.say_bytes(bytes({0, 5, 0, 0x4a, 3, 0x0e, 0x1e}));
    CHECK(player.world_time() == WorldTime{3, 14, 30});
}

TEST_CASE_FIXTURE(PlayerFixture, "C-1: a time that does not exist is told and not taken, and the link stays") {
    logged_in();
    muster.say(TimeUpdate{.day = 3, .hour = 14, .minute = 30});
    noted();
    muster.say(TimeChange{TimeUnit::hour, 24});
    CHECK(noted() == Lines{"error A time that does not exist"});
    CHECK(player.world_time() == WorldTime{3, 14, 30});
    CHECK_FALSE(muster.dropped());
}

TEST_CASE_FIXTURE(PlayerFixture,
                  "P-11: a player follows a game year, minute by minute, and answers every ping meanwhile") {
    constexpr int minutes = 365 * 24 * 60;
    constexpr auto ping_interval = 28;  // in game minutes, at 60 of them a real minute
    logged_in();
    muster.say(TimeUpdate{.day = 1, .hour = 0, .minute = 0});
    Calendar calendar;
    int wrong = 0;
    int days = 0;
    int nights = 0;
    for (int minute = 1; minute <= minutes; ++minute) {
        if (minute % ping_interval == 0) {
            muster.advance(ping_interval * 1s);
            muster.forget();  // the questions for Muster's clock
            ping();
        }
        const auto before = *player.world_time();
        calendar.next_minute(muster);
        const auto after = *player.world_time();
        wrong += after == calendar.time ? 0 : 1;
        days += before.day != after.day ? 1 : 0;
        nights += !is_night(before.hour) && is_night(after.hour) ? 1 : 0;
        if (lines.size() > 1000) lines.clear();
    }
    CHECK(wrong == 0);
    CHECK(days == 365);
    CHECK(nights == 365);
    CHECK(player.world_time() == WorldTime{2, 0, 0});  // 365 days are 52 weeks and a day
    CHECK(player.link_state() == LinkState::online);
}

TEST_CASE_FIXTURE(PlayerFixture, "P-11: the clocks are compared at the login and at each interval after it") {
    player.login("ann", "secret");
    muster.connect();
    muster.heard<PlayerLogin>();
    accept();
    CHECK(muster.heard<ClockSync>().client_send_us == us(muster.now()));
    muster.advance(29'999ms);
    CHECK(muster.silent());
    muster.advance(1ms);
    CHECK(muster.heard<ClockSync>().client_send_us == us(muster.now()));
    ping();
    muster.advance(30s);
    muster.heard<ClockSync>();
    CHECK(muster.silent());

    PlayerFixture often({.clock_sync_interval = 2s});
    often.logged_in();
    often.muster.advance(10s);
    CHECK(often.muster.count_of<ClockSync>() == 5);
}

TEST_CASE_FIXTURE(PlayerFixture, "P-11: four stamps give the offset to Muster's clock and a bound for its error") {
    player.login("ann", "secret");
    muster.connect();
    muster.heard<PlayerLogin>();
    accept();
    CHECK_FALSE(player.clock().known());
    const std::int64_t t0 = muster.heard<ClockSync>().client_send_us;
    const std::int64_t t1 = date_us + 12'000;
    const std::int64_t t2 = date_us + 15'000;
    muster.advance(33ms);
    muster.say(ClockSyncReply{.client_send_us = t0, .server_receive_us = t1, .server_send_us = t2});
    const std::int64_t t3 = us(muster.now());

    REQUIRE(player.clock().known());
    const std::int64_t offset = ((t1 - t0) + (t2 - t3)) / 2;
    CHECK(player.clock().server_time(muster.now()).time_since_epoch().count() == t3 + offset);
    // Half of the 30 ms on the way; the truth may be anywhere in between.
    CHECK(player.clock().error_bound(muster.now()) >= 15ms);
    CHECK(player.clock().error_bound(muster.now()) < 15'100us);
    CHECK(player.clock().round_trip_least() == 30ms);
}

TEST_CASE_FIXTURE(PlayerFixture,
                  "P-11: an answer to another question than the last one says nothing about the clocks") {
    player.login("ann", "secret");
    muster.connect();
    muster.heard<PlayerLogin>();
    accept();
    const std::int64_t t0 = muster.heard<ClockSync>().client_send_us;
    const auto answer = [&](std::int64_t asked) {
        muster.say(ClockSyncReply{.client_send_us = asked, .server_receive_us = date_us, .server_send_us = date_us});
    };
    answer(t0 - 1);
    CHECK_FALSE(player.clock().known());
    muster.advance(30s);
    const std::int64_t next = muster.heard<ClockSync>().client_send_us;
    answer(t0);
    CHECK_FALSE(player.clock().known());
    answer(next);
    answer(next);
    CHECK(player.clock().samples() == 1);
    muster.reconnect();
    greet();
    answer(next);
    CHECK(player.clock().samples() == 1);
}

}  // namespace muster::sdk
