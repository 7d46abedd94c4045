#include "http/event_query.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace muster;

namespace {

using Integers = std::vector<std::pair<std::string, std::int64_t>>;

EventRecord event(std::int64_t id, std::string type = "match.ready", const Integers& integers = {},
                  std::string_view name = {}) {
    PackedFields fields;
    for (const auto& [field, value] : integers) fields.integer(field, value);
    if (!name.empty()) fields.text("name", name);
    return {id, UnixMs{id * 10}, std::move(type), fields.finish()};
}

// Holds events 1 to `last`.
class Shelf final : public EventArchive {
public:
    explicit Shelf(std::int64_t last) : last_(last) {}
    EventsFound find(const EventSearch& search) override {
        ++reads;
        EventWalk walk(search);
        const bool newer = search.towards == EventSearch::Towards::newer;
        const std::int64_t step = newer ? 1 : -1;
        for (std::int64_t id = newer ? search.from + 1 : std::min(search.from - 1, last_); walk.wants_more();
             id += step) {
            if (id < 1 || id > last_) {
                walk.end();
            } else {
                walk.tell(RecordedEvent{event(id)});
            }
        }
        return walk.take();
    }
    int reads = 0;

private:
    const std::int64_t last_;
};

Result<EventQuery, std::string> parsed(std::string query) {
    HttpRequest request;
    request.query = std::move(query);
    return event_query_of(request);
}

std::vector<std::int64_t> ids(const EventPage& page) {
    std::vector<std::int64_t> out;
    for (const EventRecord& one : page.events) out.push_back(one.id);
    return out;
}
using EventIds = std::vector<std::int64_t>;

struct Past {
    Past() {
        // The ring holds 901 to 1000; the store all of them but for the last five, which are on their way.
        for (int id = 1; id <= 1000; ++id) ring.append(event(id));
    }
    EventPage ask(const std::string& query) { return page_of(*parsed(query), ring, shelf); }

    EventRing ring{100};
    Shelf shelf{995};
};

}  // namespace

TEST_CASE("O-2: a question about events is read from the query, and a bad one is told what is wrong") {
    const auto query =
        parsed("type=match.,server.offline&server=3&lobby=4&player=5&since_ms=6&until_ms=7&limit=8&after=9");
    REQUIRE(query);
    CHECK(query->filter.types == std::vector<std::string>{"match.", "server.offline"});
    CHECK(query->filter.server == 3);
    CHECK(query->filter.lobby == 4);
    CHECK(query->filter.player == 5);
    CHECK(query->filter.since_ms == 6);
    CHECK(query->filter.until_ms == 7);
    CHECK(query->limit == 8);
    CHECK(query->after == 9);
    CHECK(parsed("")->limit == 100);
    CHECK(parsed("limit=1000")->limit == 1000);
    CHECK(parsed("limit=1001").error() == "limit is at most 1000");
    CHECK(parsed("limit=0").error() == "limit must be a whole number of at least 1");
    CHECK(parsed("server=x").error() == "server must be a whole number of at least 1");
    CHECK(parsed("after=1&before=2").error() == "Either after or before, not both");
    CHECK(parsed("lobbby=1").error().starts_with("Unknown parameter in the query; known are: limit, after, before,"));
}

TEST_CASE("O-2: a filter matches types by their beginning and ids as whole numbers") {
    EventFilter filter;
    const EventRecord offered = event(1, "match.offered", {{"lobby_id", 12}, {"region", 2}, {"server_id", 3}});
    CHECK(filter.matches(offered));
    filter.types = {"server.", "match.o"};
    CHECK(filter.matches(offered));
    filter.types = {"match.offered.x"};
    CHECK_FALSE(filter.matches(offered));
    filter.types.clear();
    filter.lobby = 12;
    filter.server = 3;
    CHECK(filter.matches(offered));
    filter.lobby = 1;
    CHECK_FALSE(filter.matches(offered));
    filter.lobby.reset();
    filter.player = 3;
    CHECK_FALSE(filter.matches(offered));
    // A hostile name that tries to look like a field.
    EventFilter by_player;
    by_player.player = 7;
    CHECK_FALSE(by_player.matches(event(1, "player.login", {{"player_id", 8}}, "\",\"player_id\":7,\"")));
    CHECK(by_player.matches(event(1, "player.idle", {{"player_id", 7}})));
    EventFilter by_time;
    by_time.since_ms = 10;
    by_time.until_ms = 20;
    CHECK(by_time.matches(event(1)));
    CHECK_FALSE(by_time.matches(event(2)));
    CHECK_FALSE(by_time.matches(event(0)));
}

TEST_CASE_FIXTURE(Past, "O-2: without an id the newest events come, oldest of them first, from memory alone") {
    const EventPage page = ask("limit=3");
    CHECK(ids(page) == EventIds{998, 999, 1000});
    CHECK_FALSE(page.next);
    CHECK(page.previous == 998);
    CHECK(shelf.reads == 0);
    CHECK(page_from_ring(*parsed("limit=100"), ring)->events.size() == 100);
    CHECK_FALSE(page_from_ring(*parsed("limit=101"), ring));
}

TEST_CASE_FIXTURE(Past, "O-2: going back page by page meets every event once, across memory and store") {
    std::string query = "limit=7";
    std::int64_t expected = 1000;
    while (true) {
        const EventPage page = ask(query);
        for (auto one = page.events.rbegin(); one != page.events.rend(); ++one) CHECK(one->id == expected--);
        if (!page.previous) break;
        query = fmt::format("limit=7&before={}", *page.previous);
    }
    CHECK(expected == 0);
}

TEST_CASE_FIXTURE(Past, "O-2: going on from an id meets every event once, the ones not written yet too") {
    std::string query = "limit=600&after=0";
    std::int64_t expected = 1;
    while (true) {
        const EventPage page = ask(query);
        for (const EventRecord& one : page.events) CHECK(one.id == expected++);
        if (!page.next) break;
        query = fmt::format("limit=600&after={}", *page.next);
    }
    CHECK(expected == 1001);
    CHECK(page_from_ring(*parsed("after=900"), ring)->events.size() == 100);
    CHECK_FALSE(page_from_ring(*parsed("after=899"), ring));
}

TEST_CASE_FIXTURE(Past, "O-2: a span of time ends the search as soon as it is over") {
    const EventPage page = ask("since_ms=9950&limit=1000");
    CHECK(ids(page) == EventIds{995, 996, 997, 998, 999, 1000});
    CHECK_FALSE(page.previous);
    CHECK(shelf.reads == 0);
    const EventPage forward = ask("after=0&until_ms=40");
    CHECK(ids(forward) == EventIds{1, 2, 3});
    CHECK_FALSE(forward.next);
}

TEST_CASE("O-2: a question that matches nothing looks at a bounded number of events and says where to go on") {
    EventRing ring(10);
    Shelf shelf(50'000);
    for (std::int64_t id = 49'000; id <= 50'000; ++id) ring.append(event(id));
    EventQuery query;
    query.filter.types = {"never."};
    query.after = 0;
    query.looked_at_max = 20'000;
    EventPage page = page_of(query, ring, shelf);
    CHECK(page.events.empty());
    CHECK(page.next == 20'000);
    query.after = page.next;
    page = page_of(query, ring, shelf);
    CHECK(page.next == 40'000);
    query.after = page.next;
    CHECK_FALSE(page_of(query, ring, shelf).next);
}

TEST_CASE("O-2: an event is one JSON object, its fields beside id, time and type") {
    CHECK(event_json(event(7, "match.ready", {{"lobby_id", 1}})) ==
          R"({"id":7,"time_ms":70,"type":"match.ready","lobby_id":1})");
    CHECK(event_json(event(7, "x")) == R"({"id":7,"time_ms":70,"type":"x"})");
    EventPage page;
    CHECK(event_page_json(page) == "{\"events\":[],\"next\":null,\"previous\":null}\n");
    page.events = {event(1, "a"), event(2, "b")};
    page.next = 2;
    CHECK(event_page_json(page) ==
          "{\"events\":[{\"id\":1,\"time_ms\":10,\"type\":\"a\"},{\"id\":2,\"time_ms\":20,\"type\":\"b\"}],\"next\":2,"
          "\"previous\":null}\n");
}
