#include "core/entities.h"

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("H-1: an entity's id is never used twice, and the id of one that is gone names nobody") {
    Entities entities;
    const EntityId first = entities.create(5);
    CHECK(entities.contains(first));
    CHECK(entities.session(first) == 5);
    CHECK(entities.has_authority(first));
    CHECK(entities.remove(first));
    CHECK_FALSE(entities.remove(first));
    CHECK_FALSE(entities.contains(first));
    CHECK(entities.at(first.index) == EntityId{});

    const EntityId second = entities.create(6);
    CHECK(second.index == first.index);
    CHECK(second != first);
    CHECK(second.number() != first.number());
    CHECK_FALSE(entities.contains(first));
    CHECK(entities.at(second.index) == second);
    CHECK(entities.size() == 1);
    CHECK_FALSE(entities.contains(EntityId{}));
}

TEST_CASE("H-2: who takes a place over inherits neither failures nor a request that is under way") {
    Entities entities;
    const EntityId first = entities.create(1);
    HeartbeatData& heart = entities.heartbeat(first);
    heart = {.request = 41, .failures = 2, .has = true, .asked = true};
    entities.set_authority(first, false);
    (void)entities.remove(first);
    const EntityId second = entities.create(2);
    const HeartbeatData& fresh = entities.heartbeat(second);
    CHECK(fresh.request != 41);
    CHECK(fresh.failures == 0);
    CHECK_FALSE(bool{fresh.asked});
    CHECK(entities.has_authority(second));
}
