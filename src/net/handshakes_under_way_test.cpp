#include "net/handshakes_under_way.h"

#include <cstdint>

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

namespace {

constexpr ConnectionId link_of(std::uint32_t number) {
    return {number, 1};
}

constexpr bool none_is_over(ConnectionId) {
    return false;
}

}  // namespace

TEST_CASE("S-1, fault 28: so many handshakes are under way at once, and one that is over makes room for the next") {
    HandshakesUnderWay under_way(3);
    const Time now{};
    for (std::uint32_t i = 0; i < 2; ++i) under_way.begin(link_of(i), now);
    CHECK(under_way.has_room());
    CHECK_FALSE(under_way.room_at());
    under_way.begin(link_of(2), now);
    CHECK_FALSE(under_way.has_room());
    under_way.make_room(now, none_is_over);
    CHECK_FALSE(under_way.has_room());

    under_way.make_room(now, [](ConnectionId link) { return link == link_of(1); });
    CHECK(under_way.has_room());
    under_way.begin(link_of(3), now);
    CHECK_FALSE(under_way.has_room());
}

TEST_CASE("fault 75: peers that were begun and fall silent hold others up for a quarter of a second at most") {
    HandshakesUnderWay under_way(2);
    const Time start{};
    under_way.begin(link_of(0), start);
    under_way.begin(link_of(1), start + 100ms);
    CHECK(under_way.room_at() == start + HandshakesUnderWay::patience);
    under_way.make_room(start + HandshakesUnderWay::patience - 1ns, none_is_over);
    CHECK_FALSE(under_way.has_room());
    under_way.make_room(start + HandshakesUnderWay::patience, none_is_over);
    CHECK(under_way.has_room());

    under_way.begin(link_of(2), start + HandshakesUnderWay::patience);
    CHECK(under_way.room_at() == start + 100ms + HandshakesUnderWay::patience);
}
