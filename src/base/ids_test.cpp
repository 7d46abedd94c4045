#include "base/ids.h"

#include <type_traits>
#include <unordered_set>

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("ids of different kinds do not mix, and are as large as their number") {
    static_assert(!std::is_convertible_v<ServerId, LobbyId>);
    static_assert(!std::is_convertible_v<std::int32_t, ServerId>);
    static_assert(sizeof(RegionId) == 1 && sizeof(ServerId) == 4);
    CHECK(ServerId(3) == ServerId(3));
    CHECK(ServerId(3) < ServerId(4));
}

TEST_CASE("ids work as keys") {
    const std::unordered_set<ServerId> ids{ServerId(1), ServerId(2), ServerId(1)};
    CHECK(ids.size() == 2);
}

TEST_CASE("a reused slot is another connection") {
    CHECK(ConnectionId{4, 1} != ConnectionId{4, 2});
}
