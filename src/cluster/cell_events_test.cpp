#include "cluster/cell_events.h"

#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace muster;

namespace {

using Towards = EventsAsked::Towards;

std::string event(int id, int time) {
    return fmt::format(R"({{"id":{},"time_ms":{},"type":"t"}})", id, time);
}

CellAnswer page(std::string cell, std::string events, std::string next = "null", std::string previous = "null") {
    return {std::move(cell),
            HttpResponse{200, "application/json",
                         fmt::format(R"({{"events":[{}],"next":{},"previous":{}}})", events, next, previous)}};
}

// Of cell 0 of two, and of cell 1.
std::string eu(int id, int time, const char* before) {
    return fmt::format(R"({{"id":{},"cell":"eu","before":"{}","time_ms":{},"type":"t"}})", 2 * id, before, time);
}
std::string us(int id, int time, const char* before) {
    return fmt::format(R"({{"id":{},"cell":"us","before":"{}","time_ms":{},"type":"t"}})", 2 * id + 1, before, time);
}

std::string told(Towards towards, EventPlaces from, std::size_t limit, std::vector<CellAnswer> answers) {
    const HttpResponse merged = merged_events({towards, std::move(from), limit, false}, std::move(answers));
    CHECK(merged.status == 200);
    return merged.body;
}

HttpRequest live(std::string query, std::string last = "") {
    HttpRequest request;
    request.query = std::move(query);
    request.headers = {{"Accept", "text/event-stream"}};
    if (!last.empty()) request.headers.push_back({"Last-Event-ID", std::move(last)});
    return request;
}

}  // namespace

TEST_CASE("N-11: a cursor holds a place in each cell, and nothing else is one") {
    const EventPlaces places{12, std::nullopt, 0};
    CHECK(places_in(cursor_of(places), 3) == places);
    for (const char* bad :
         {"", "c", "12", "c1-2", "c1-2-3-4", "c1-2-", "c1--3", "c1-2-x", "c1-2-3 ", "d1-2-3", "c-1-2-3"}) {
        CAPTURE(bad);
        CHECK_FALSE(places_in(bad, 3));
    }
}

TEST_CASE("N-11: events of all cells are one story by time, then cell, and pages of it go on without a gap") {
    const auto eu_page = page("eu", event(1, 10) + "," + event(2, 20) + "," + event(3, 30));
    const auto us_page = page("us", event(7, 10) + "," + event(8, 25));
    CHECK(told(Towards::newer, {0, 6}, 9, {eu_page, us_page}) ==
          fmt::format(R"({{"events":[{},{},{},{},{}],"next":null,"previous":"c0-6","latest":"c3-8"}})"
                      "\n",
                      eu(1, 10, "c0-6"), us(7, 10, "c1-6"), eu(2, 20, "c1-7"), us(8, 25, "c2-7"), eu(3, 30, "c2-8")));
    CHECK(told(Towards::newer, {0, 6}, 3, {eu_page, us_page}) ==
          fmt::format(R"({{"events":[{},{},{}],"next":"c2-7","previous":"c0-6","latest":"c2-7"}})"
                      "\n",
                      eu(1, 10, "c0-6"), us(7, 10, "c1-6"), eu(2, 20, "c1-7")));
    // A cell that has more than it told: what is later than its last may not be told before it.
    CHECK(told(Towards::newer, {0, 6}, 9, {page("eu", event(1, 10), "5"), us_page}) ==
          fmt::format(R"({{"events":[{}],"next":"c5-6","previous":"c0-6","latest":"c5-6"}})"
                      "\n",
                      eu(1, 10, "c0-6")));
    // One that was asked for something rare and found nothing so far: the next page goes on there.
    CHECK(told(Towards::newer, {0, 6}, 9, {page("eu", "", "1000"), us_page}) ==
          "{\"events\":[],\"next\":\"c1000-6\",\"previous\":null,\"latest\":\"c1000-6\"}\n");
}

TEST_CASE("N-11: the newest events of all cells, and those before them") {
    const auto eu_page = page("eu", event(2, 20) + "," + event(3, 30), "null", "2");
    const auto us_page = page("us", event(7, 10) + "," + event(8, 30));
    CHECK(told(Towards::newest, {}, 2, {eu_page, us_page}) ==
          fmt::format(R"({{"events":[{},{}],"next":null,"previous":"c2-7","latest":"c3-8"}})"
                      "\n",
                      eu(3, 30, "c2-7"), us(8, 30, "c3-7")));
    // There may be older ones of eu that come after us' seventh.
    CHECK(told(Towards::newest, {}, 9, {eu_page, us_page}) ==
          fmt::format(R"({{"events":[{},{},{}],"next":null,"previous":"c1-7","latest":"c3-8"}})"
                      "\n",
                      eu(2, 20, "c1-7"), eu(3, 30, "c2-7"), us(8, 30, "c3-7")));
    CHECK(told(Towards::older, {2, 7}, 9, {page("eu", event(2, 20)), page("us", event(7, 10))}) ==
          fmt::format(R"({{"events":[{},{}],"next":"c2-7","previous":null,"latest":null}})"
                      "\n",
                      us(7, 10, "c0-0"), eu(2, 20, "c0-7")));
}

TEST_CASE("N-11: a cell that is missing keeps its place, and the page says so") {
    CHECK(told(Towards::newer, {0, 6}, 9, {page("eu", event(1, 10)), {"us", std::nullopt}}) ==
          fmt::format(R"({{"events":[{}],"next":null,"previous":"c0-6","latest":"c1-6","partial":true,)"
                      R"("missing_cells":["us"]}})"
                      "\n",
                      eu(1, 10, "c0-6")));
    CHECK(told(Towards::newest, {}, 9, {page("eu", event(1, 10)), {"us", std::nullopt}}).find("\"latest\":\"c1-n\"") !=
          std::string::npos);
    const EventsAsked asked{Towards::newest, {}, 9, false};
    CHECK(merged_events(asked, {{"eu", std::nullopt}, {"us", std::nullopt}}).status == 503);
    CHECK(merged_events(asked, {page("eu", ""), {"us", HttpResponse{401, "", ""}}}).status == 401);
    CHECK(merged_events(asked, {page("eu", ""), {"us", HttpResponse{200, "", "{}"}}}).status == 503);
}

TEST_CASE("N-11: a feed goes on from its cursor, from the beginning of a cell it has seen nothing of, or begins now") {
    const std::vector<CellAnswer> newest{page("eu", event(4, 10)), page("us", ""), {"x", std::nullopt}};
    CHECK(feed_places({}, newest) == EventPlaces{4, 0, std::nullopt});
    HttpRequest request;
    request.headers.push_back({"Accept", "text/event-stream"});
    request.query = "after=c3-n-n";
    const auto asked = events_asked(request, 3);
    REQUIRE(asked);
    CHECK(feed_places(*asked, {page("eu", event(4, 10)), page("us", event(7, 9)), {"x", std::nullopt}}) ==
          EventPlaces{3, 0, 0});
    CHECK(event_question(request, asked->towards, 0).query == "after=0");
}

TEST_CASE("N-11: each cell is asked from its own place, with all else as it was asked") {
    HttpRequest request;
    request.query = "type=match.&after=c3-8&limit=5";
    const auto asked = events_asked(request, 2);
    REQUIRE(asked);
    CHECK(asked->towards == Towards::newer);
    CHECK(asked->limit == 5);
    CHECK(event_question(request, asked->towards, asked->from[1]).query == "type=match.&limit=5&after=8");
    CHECK(event_question(request, Towards::older, 8).query == "type=match.&limit=5&before=9");
    CHECK(event_question(request, Towards::newer, std::nullopt).query == "type=match.&limit=5");
    for (const char* bad : {"after=3", "after=c1", "before=c1-2-3", "after=c1-2&before=c1-2"}) {
        request.query = bad;
        CHECK_FALSE(events_asked(request, 2));
    }
}

TEST_CASE("N-11: a feed begins after what its reader has seen last") {
    const auto resumed = events_asked(live("type=a", "c3-8"), 2);
    REQUIRE(resumed);
    CHECK(resumed->is_live);
    CHECK(resumed->from == EventPlaces{3, 8});
    CHECK(event_question(live("type=a", "c3-8"), Towards::newer, 3).header("Last-Event-ID").empty());
    CHECK(events_asked(live("after=c1-n"), 2)->from == EventPlaces{1, std::nullopt});
    CHECK_FALSE(events_asked(live("", "17"), 2));
    CHECK_FALSE(events_asked(live("before=c1-2"), 2));
    CHECK_FALSE(events_asked(live("until_ms=5"), 2));
}
