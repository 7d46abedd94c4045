#include "base/guess_pace.h"

#include <string>

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

namespace {

const IpAddress guesser = *IpAddress::parse("192.0.2.1");

}  // namespace

TEST_CASE("S-4: wrong secrets are told once a minute by address, and slow from the tenth on") {
    GuessPace pace;
    Time now{1h};
    CHECK(pace.wrong(now, guesser).tell);
    for (int i = 2; i <= 9; ++i) {
        const auto verdict = pace.wrong(now, guesser);
        CHECK_FALSE(verdict.tell);
        CHECK(verdict.delay == 0s);
    }
    CHECK(pace.wrong(now, *IpAddress::parse("192.0.2.2")).tell);
    CHECK(pace.wrong(now, guesser).delay == GuessPace::pace);
    CHECK(pace.wrong(now, guesser).in_window == 11);

    now += GuessPace::window - 1ms;
    CHECK_FALSE(pace.wrong(now, guesser).tell);
    CHECK(pace.wrong(now, guesser).delay > 0s);
    now += 1ms;
    const auto anew = pace.wrong(now, guesser);
    CHECK(anew.tell);
    CHECK(anew.in_window == 1);
    CHECK(anew.delay == 0s);
}

TEST_CASE("S-4: many guesses at once from one address are answered one after the other, none later than the longest") {
    GuessPace pace;
    const Time now{1h};
    for (int i = 1; i <= 9; ++i) pace.wrong(now, guesser);
    for (int i = 1; i <= 30; ++i) CHECK(pace.wrong(now, guesser).delay == i * GuessPace::pace);
    for (int i = 1; i <= 30; ++i) CHECK(pace.wrong(now, guesser).delay == GuessPace::delay_max);
}

TEST_CASE("S-4: addresses of one IPv6 network guess together") {
    GuessPace pace(2);
    CHECK(pace.wrong(Time{}, *IpAddress::parse("2001:db8::1")).delay == 0s);
    CHECK(pace.wrong(Time{}, *IpAddress::parse("2001:db8::2")).delay > 0s);
    CHECK(pace.wrong(Time{}, *IpAddress::parse("2001:db8:0:1::2")).delay == 0s);
}

TEST_CASE("S-4: guesses from very many addresses take bounded memory, are slow meanwhile, and it ends") {
    GuessPace pace;
    Time now{};
    for (std::size_t i = 0; i < GuessPace::addresses_max; ++i) {
        const auto from = IpAddress::v4({10, static_cast<std::uint8_t>(i >> 16),
                                         static_cast<std::uint8_t>(i >> 8 & 255), static_cast<std::uint8_t>(i & 255)});
        CHECK(pace.wrong(now, from).tell);
    }
    const auto one_more = pace.wrong(now, guesser);
    CHECK_FALSE(one_more.tell);
    CHECK(one_more.delay == GuessPace::pace);
    now += GuessPace::window;
    CHECK(pace.wrong(now, guesser).tell);
}
