#include "cluster/relayed_feed.h"

#include <deque>

#include <doctest/doctest.h>

#include "base/virtual_clock.h"
#include "http/api_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

struct Told final : HttpStream {
    explicit Told(int& count) : alive(count) { ++alive; }
    ~Told() override { --alive; }
    bool next(std::string& out) override {
        if (pieces.empty()) return goes_on;
        out += pieces.front();
        pieces.pop_front();
        return true;
    }
    std::deque<std::string> pieces;
    bool goes_on = true;
    int& alive;
};

// An owner with one feed, and a reader at another node. What the reader asks arrives at once, or is lost.
struct TwoNodes {
    TwoNodes() {
        auto stream = std::make_shared<Told>(alive);
        told = stream.get();
        HttpResponse response{200, "text/event-stream", {}};
        response.stream = std::move(stream);
        answer = feeds.begin(std::move(response));
        REQUIRE_FALSE(answer.stream);
        RelayedFeed::continue_answer(answer, [this](const HttpRequest& request, RelayedFeed::OnAnswer on_answer) {
            ++asked;
            if (is_cut) return on_answer(std::nullopt);
            REQUIRE(RelayedFeed::is_about_feed(request));
            feeds.ask(request, HttpResponder([on_answer](HttpResponse&& piece) { on_answer(std::move(piece)); }));
        });
        REQUIRE(answer.stream);
        CHECK(answer.headers.empty());
    }
    // What the reader gets now; "over" at the end.
    std::string read() {
        std::string out;
        return answer.stream->next(out) ? out : "over";
    }
    void pass(Duration time) {
        clock.advance(time);
        thread->turn();
    }

    VirtualClock clock;
    std::shared_ptr<HandThread> thread = std::make_shared<HandThread>(clock);
    RelayedFeeds feeds{clock, thread};
    int alive = 0;
    int asked = 0;
    bool is_cut = false;
    Told* told = nullptr;
    HttpResponse answer;
};

}  // namespace

TEST_CASE_FIXTURE(TwoNodes, "N-11, O-2: a live feed at another node tells what the owner's tells, in its order") {
    told->pieces = {"one", "two"};
    CHECK(read().empty());  // asked for
    CHECK(read() == "one");
    CHECK(read() == "two");
    CHECK(read().empty());
    const int before = asked;
    pass(RelayedFeeds::look_every);
    CHECK(read().empty());
    CHECK(asked == before);  // the owner holds the question until there is something to tell
    told->pieces = {"three"};
    pass(RelayedFeeds::look_every);
    CHECK(read() == "three");
    // A feed that has nothing to tell is asked again now and then, and stays.
    for (int i = 0; i < 40; ++i) {
        pass(RelayedFeeds::answer_within);
        CHECK(read().empty());
    }
    CHECK(feeds.size() == 1);
    told->goes_on = false;
    pass(RelayedFeeds::look_every);
    CHECK(read() == "over");
    CHECK(alive == 0);
}

TEST_CASE_FIXTURE(TwoNodes,
                  "N-11: a feed ends with its reader, with the link to the owner, and with the reader's node") {
    SUBCASE("the reader leaves") {
        answer.stream.reset();
        CHECK(alive == 0);
    }
    SUBCASE("the link is lost: the reader is let go and reconnects") {
        is_cut = true;
        CHECK(read().empty());
        CHECK(read() == "over");
    }
    SUBCASE("the node is gone: nobody asks any more") {
        pass(RelayedFeeds::patience);
        CHECK(alive == 1);
        pass(RelayedFeeds::patience + std::chrono::seconds(1));
        CHECK(alive == 0);
        CHECK(read().empty());
        CHECK(read() == "over");
    }
}
