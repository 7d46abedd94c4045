#include "http/event_ring.h"

#include <algorithm>

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

TEST_CASE("O-2: a ring of many events gives each of them back whole, from both ends") {
    EventRing ring(1'000);
    const auto made = [](std::int64_t id) {
        return EventRecord{id, UnixMs{1'000'000 - id % 7}, id % 3 == 0 ? "match.ready" : "server.registered",
                           std::string(static_cast<std::size_t>(id % 200), static_cast<char>(id))};
    };
    for (std::int64_t id = 10; id <= 20'000; id += 10) ring.append(made(id));
    CHECK(ring.floor() == 10'000);

    const auto all = ring.after(0, 5'000);
    REQUIRE(all.size() == 1'000);
    std::int64_t id = 10'010;
    for (const auto& event : all) {
        REQUIRE(*event == made(id));
        id += 10;
    }
    auto backwards = ring.before(100'000, 5'000);
    std::reverse(backwards.begin(), backwards.end());
    REQUIRE(backwards.size() == 1'000);
    for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(*backwards[i] == *all[i]);

    for (const std::int64_t from : {10'000, 10'005, 12'345, 15'360, 19'990, 20'000}) {
        const auto after = ring.after(from, 3);
        const std::int64_t next = from / 10 * 10 + 10;
        CHECK(ids(after).size() == static_cast<std::size_t>(std::min<std::int64_t>(3, (20'010 - next) / 10)));
        if (!after.empty()) CHECK(after.front()->id == next);
        const auto before = ring.before(from, 3);
        const std::int64_t last = (from - 1) / 10 * 10;
        CHECK(before.empty() == (last <= 10'000));
        if (!before.empty()) CHECK(before.front()->id == last);
    }
}
