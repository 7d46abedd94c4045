#include "http/latest_view.h"

#include <doctest/doctest.h>

#include "http/api_fixture.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

struct Reading {
    VirtualClock clock;
    HandThread thread{clock};
    bool takes = true;
    std::uint64_t asked = 0;  // how often the game thread was
    LatestView<int> latest{clock, thread, [this](std::uint64_t number, Time) {
                               asked = number;
                               return takes;
                           }};
    std::vector<int> seen;  // -1: no view

    void look() {
        latest.with_view([this](const int* view) { seen.push_back(view ? *view : -1); });
    }
    void made(int value, Duration cost) { latest.made(asked, std::make_shared<const int>(value), cost); }
};

}  // namespace

TEST_CASE_FIXTURE(Reading, "O-2: an infrequent reader gets a fresh view, and readers at once share one") {
    look();
    look();
    CHECK(asked == 1);
    made(7, 1ms);
    CHECK(seen == std::vector{7, 7});
    clock.advance(10s);
    look();
    CHECK(asked == 2);
    made(8, 1ms);
    CHECK(seen.back() == 8);
}

TEST_CASE_FIXTURE(Reading, "O-2: when views cost too much, readers get one that is a second old at most") {
    look();
    made(7, 30ms);  // more than may be saved up
    look();
    CHECK(asked == 1);
    CHECK(seen == std::vector{7, 7});
    clock.advance(1s);
    look();
    CHECK(asked == 2);
}

TEST_CASE_FIXTURE(Reading, "O-2: who changed something is shown a view that was begun after the change") {
    look();
    latest.outdated();
    look();
    made(1, 30ms);
    CHECK(seen == std::vector{1});
    CHECK(asked == 2);
    made(2, 1ms);
    CHECK(seen == std::vector{1, 2});
}

TEST_CASE_FIXTURE(Reading, "O-2: a game loop that takes no question, or does not answer, leaves no reader waiting") {
    takes = false;
    look();
    CHECK(seen == std::vector{-1});
    takes = true;
    look();
    clock.advance(3s);
    thread.turn();
    CHECK(seen == std::vector{-1, -1});
    made(5, 1ms);  // too late for those, and good for the next
    CHECK(seen.size() == 2);
}

TEST_CASE_FIXTURE(Reading, "O-2: an answer is kept for as long as its view is shown") {
    const int* shown = nullptr;
    latest.with_view([&shown](const int* view) { shown = view; });
    made(7, 30ms);
    latest.keep_answer("/servers", shown, "text");
    REQUIRE(latest.kept_answer("/servers"));
    CHECK(*latest.kept_answer("/servers") == "text");
    CHECK_FALSE(latest.kept_answer("/matches"));
    CHECK(latest.kept_answer("/servers", shown));
    latest.outdated();
    CHECK_FALSE(latest.kept_answer("/servers"));
    made(8, 30ms);
    CHECK_FALSE(latest.kept_answer("/servers", shown));
    latest.keep_answer("/servers", shown, "of the view before");
    CHECK_FALSE(latest.kept_answer("/servers"));
}

TEST_CASE_FIXTURE(Reading, "O-2: a view that nobody asks for any more is not held beyond its age") {
    const auto view = std::make_shared<const int>(7);
    look();
    latest.made(asked, view, 1ms);
    clock.advance(999ms);
    thread.turn();
    CHECK(view.use_count() == 2);
    clock.advance(1ms);
    thread.turn();
    CHECK(view.use_count() == 1);
    look();
    made(8, 1ms);
    CHECK(seen == std::vector{7, 8});
}

TEST_CASE_FIXTURE(Reading,
                  "O-2: a view that was made for a sample alone is not kept, but one that readers wait for is") {
    const auto sample = [this] { latest.with_sample([this](const int* view) { seen.push_back(view ? *view : -1); }); };
    std::weak_ptr<const int> last;
    const auto make = [&](int value, Duration cost) {
        const auto view = std::make_shared<const int>(value);
        last = view;
        latest.made(asked, view, cost);
    };
    sample();
    make(1, 1ms);
    CHECK(seen == std::vector{1});
    CHECK(last.expired());

    clock.advance(10s);
    sample();
    look();
    make(2, 1ms);
    CHECK(seen == std::vector{1, 2, 2});
    CHECK_FALSE(last.expired());

    // When views cost too much, the next reader gets the sampler's.
    clock.advance(10s);
    sample();
    make(3, 30ms);
    look();
    CHECK(asked == 3);
    CHECK(seen.back() == 3);
}
