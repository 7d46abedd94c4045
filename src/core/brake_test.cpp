#include "core/brake.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

namespace {

Time at(Duration time) {
    return Time{} + time;
}

}  // namespace

TEST_CASE("F-8, fault 29: the brake asks for a share of the region and for a number of servers, within its window") {
    Brake brake({.share = 0.15, .servers = 10, .window = 30s, .hold = 90s});
    for (int id = 1; id <= 9; ++id) CHECK_FALSE(brake.silenced(at(0s), ServerId(id), 20));
    CHECK(brake.silenced(at(30s), ServerId(10), 20));

    SUBCASE("not when they are too small a part of the region") {
        Brake large({.share = 0.15, .servers = 10, .window = 30s, .hold = 90s});
        for (int id = 1; id <= 15; ++id) CHECK_FALSE(large.silenced(at(0s), ServerId(id), 100));
        CHECK(large.silenced(at(0s), ServerId(16), 100));
    }
    SUBCASE("not when they fell silent one by one over a longer time") {
        Brake slow({.share = 0.15, .servers = 10, .window = 30s, .hold = 90s});
        for (int id = 1; id <= 30; ++id) CHECK_FALSE(slow.silenced(at(id * 4s), ServerId(id), 40));
    }
    SUBCASE("not counting those that were heard since, nor one server twice") {
        Brake heard({.share = 0.15, .servers = 10, .window = 30s, .hold = 90s});
        for (int id = 1; id <= 9; ++id) (void)heard.silenced(at(0s), ServerId(id), 20);
        heard.heard(ServerId(1));
        CHECK_FALSE(heard.silenced(at(1s), ServerId(10), 20));
        CHECK_FALSE(heard.silenced(at(2s), ServerId(10), 20));
        CHECK(heard.silenced(at(2s), ServerId(1), 20));
    }
}

TEST_CASE("F-8: the brake is off again when the last server that it kept is let go") {
    Brake brake({});
    brake.pull();
    brake.hold();
    brake.hold();
    CHECK(brake.on());
    CHECK(brake.silenced(at(1h), ServerId(9), 1'000));  // while it is on, each further one is kept
    CHECK_FALSE(brake.let_go());
    CHECK(brake.on());
    CHECK(brake.let_go());
    CHECK_FALSE(brake.on());
}
