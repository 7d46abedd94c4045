#include "core/login_rate.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("S-7: an account logs in 30 times in any minute, and no other account suffers") {
    LoginRate rate(30);
    const AccountId ann(1);
    const Time start{1h};
    for (int i = 0; i < 30; ++i) CHECK(rate.allow(start + i * 1s, ann));
    CHECK_FALSE(rate.allow(start + 30s, ann));
    CHECK(rate.allow(start + 30s, AccountId(2)));
    CHECK_FALSE(rate.allow(start + 60s - 1ns, ann));
    CHECK(rate.allow(start + 60s, ann));  // the first is a minute old; refused ones do not count
    CHECK_FALSE(rate.allow(start + 60s, ann));
    CHECK(rate.allow(start + 61s, ann));
}

TEST_CASE("S-7: only the logins of the last minute are remembered") {
    LoginRate rate(30);
    for (int i = 1; i <= 10'000; ++i) CHECK(rate.allow(Time(i * 1s), AccountId(i)));
    CHECK(rate.accounts() == 60);
}

TEST_CASE("S-7: a new limit holds at once") {
    LoginRate rate(1);
    CHECK(rate.allow(Time{1s}, AccountId(1)));
    CHECK_FALSE(rate.allow(Time{2s}, AccountId(1)));
    rate.configure(2);
    CHECK(rate.allow(Time{3s}, AccountId(1)));
    CHECK_FALSE(rate.allow(Time{4s}, AccountId(1)));
}
