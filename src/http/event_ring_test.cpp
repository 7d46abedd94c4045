#include "http/event_ring.h"

#include <doctest/doctest.h>

using namespace muster;

namespace {

EventRecord ring_event(std::int64_t id) {
    return {id, UnixMs{id * 10}, "match.ready", {}};
}

std::vector<std::int64_t> ids(const std::vector<EventRing::Event>& events) {
    std::vector<std::int64_t> out;
    for (const auto& one : events) out.push_back(one->id);
    return out;
}

using EventIds = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("O-2: the ring gives events after an id oldest first, and before an id newest first") {
    EventRing ring(10);
    CHECK(ring.last_id() == 0);
    for (const int id : {1, 2, 5, 9}) ring.append(ring_event(id));
    CHECK(ids(ring.after(0, 10)) == EventIds{1, 2, 5, 9});
    CHECK(ids(ring.after(2, 10)) == EventIds{5, 9});
    CHECK(ids(ring.after(3, 1)) == EventIds{5});
    CHECK(ids(ring.after(9, 10)).empty());
    CHECK(ids(ring.before(100, 10)) == EventIds{9, 5, 2, 1});
    CHECK(ids(ring.before(9, 2)) == EventIds{5, 2});
    CHECK(ids(ring.before(1, 10)).empty());
    CHECK(ring.last_id() == 9);
    CHECK(ring.floor() == 0);
}

TEST_CASE("O-2: a full ring lets the oldest go and knows up to where it knows nothing") {
    EventRing ring(3);
    for (int id = 1; id <= 5; ++id) ring.append(ring_event(id));
    CHECK(ids(ring.after(0, 10)) == EventIds{3, 4, 5});
    CHECK(ring.floor() == 2);
}

TEST_CASE("O-2: an event that is written a second time is in the ring once") {
    EventRing ring(10);
    ring.append(ring_event(4));
    ring.append(ring_event(5));
    ring.append(ring_event(4));
    ring.append(ring_event(5));
    ring.append(ring_event(6));
    CHECK(ids(ring.after(0, 10)) == EventIds{4, 5, 6});
}

TEST_CASE("O-2: a ring begins with what the last run left, whole or cut off") {
    EventRing whole(10);
    whole.preload({ring_event(7), ring_event(8)}, true);
    CHECK(whole.floor() == 0);
    CHECK(whole.last_id() == 8);
    EventRing cut(10);
    cut.preload({ring_event(7), ring_event(8)}, false);
    CHECK(cut.floor() == 6);
    cut.append(ring_event(9));
    CHECK(ids(cut.after(6, 10)) == EventIds{7, 8, 9});
}
