#include "cluster/cell_feeds.h"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/virtual_clock.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

// The owners of two cells: what they are asked, and what they answer.
struct Owners {
    struct Question {
        HttpRequest request;
        RelayedFeed::OnAnswer then;
    };

    CellFeeds::Ask ask() {
        return [this](const HttpRequest& request, RelayedFeed::OnAnswer then, CellNumber cell) {
            asked[cell].push_back({request, std::move(then)});
        };
    }
    // The last question of that cell.
    Question take(std::size_t cell) {
        REQUIRE_FALSE(asked[cell].empty());
        Question last = std::move(asked[cell].back());
        asked[cell].pop_back();
        return last;
    }
    void open(std::size_t cell) {
        HttpResponse begun{200, "text/event-stream", {}};
        begun.headers.push_back({"Muster-Feed", "/feeds/1"});
        take(cell).then(std::move(begun));
    }
    void tell(std::size_t cell, std::string piece) { take(cell).then(HttpResponse{200, "", std::move(piece)}); }

    std::vector<Question> asked[2];
};

std::string next_of(CellFeeds& feeds) {
    std::string out;
    CHECK(feeds.next(out));
    return out;
}

}  // namespace

TEST_CASE("N-11: the feeds of all cells are one, and each event's id is a place in all of them") {
    VirtualClock clock;
    Owners owners;
    HttpRequest request;
    request.query = "type=match.";
    CellFeeds feeds(clock, {"eu", "us"}, request, {3, 8}, owners.ask());
    CHECK(next_of(feeds) == "retry: 2000\n\n");
    CHECK(owners.asked[0].back().request.query == "type=match.&after=3");
    CHECK(owners.asked[1].back().request.query == "type=match.&after=8");
    owners.open(0);
    owners.open(1);
    CHECK(next_of(feeds).empty());
    owners.tell(1, "retry: 2000\n\nid: 9\nevent: match.ready\ndata: {\"id\":9,\"time_ms\":1}\n\n: still here\n\n");
    CHECK(next_of(feeds) ==
          "id: c3-9\nevent: match.ready\ndata: {\"id\":19,\"cell\":\"us\",\"before\":\"c3-8\",\"time_ms\":1}\n\n");
    owners.tell(
        0, "id: 4\nevent: a\ndata: {\"id\":4,\"time_ms\":2}\n\nid: 5\nevent: b\ndata: {\"id\":5,\"time_ms\":3}\n\n");
    CHECK(next_of(feeds) ==
          "id: c4-9\nevent: a\ndata: {\"id\":8,\"cell\":\"eu\",\"before\":\"c3-9\",\"time_ms\":2}\n\n"
          "id: c5-9\nevent: b\ndata: {\"id\":10,\"cell\":\"eu\",\"before\":\"c4-9\",\"time_ms\":3}\n\n");
    owners.tell(0, "event: gap\ndata: {\"after\":5,\"up_to\":7}\n\n");
    CHECK(next_of(feeds) == "event: gap\ndata: {\"cell\":\"eu\",\"after\":5,\"up_to\":7}\n\n");
    clock.advance(CellFeeds::keep_alive_every);
    CHECK(next_of(feeds) == ": still here\n\n");
}

TEST_CASE("N-11: a cell whose owner is lost is asked again, from where it was, and the others go on") {
    VirtualClock clock;
    Owners owners;
    CellFeeds feeds(clock, {"eu", "us"}, {}, {3, std::nullopt}, owners.ask());
    next_of(feeds);
    owners.open(0);
    owners.take(1).then(std::nullopt);  // nobody owns it
    CHECK(next_of(feeds).empty());
    owners.tell(0, "id: 4\nevent: a\ndata: {\"id\":4}\n\n");
    CHECK(next_of(feeds).starts_with("id: c4-n\n"));
    CHECK(owners.asked[1].empty());
    clock.advance(CellFeeds::ask_again_after);
    next_of(feeds);
    CHECK(owners.asked[1].back().request.query.empty());
    owners.open(1);
    owners.take(0).then(std::nullopt);  // now eu's is lost
    next_of(feeds);
    next_of(feeds);
    owners.tell(1, "id: 9\nevent: a\ndata: {\"id\":9}\n\n");
    CHECK(next_of(feeds).starts_with("id: c4-9\n"));
    clock.advance(CellFeeds::ask_again_after);
    next_of(feeds);
    CHECK(owners.asked[0].back().request.query == "after=4");
}

TEST_CASE("N-11, S-5: a reader that a cell no longer admits is let go") {
    VirtualClock clock;
    Owners owners;
    CellFeeds feeds(clock, {"eu", "us"}, {}, {}, owners.ask());
    next_of(feeds);
    owners.open(0);
    owners.take(1).then(HttpResponse{401, "", {}});
    std::string out;
    CHECK_FALSE(feeds.next(out));
}
