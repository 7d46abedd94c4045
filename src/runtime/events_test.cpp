#include "runtime/events.h"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/json_fields.h"
#include "runtime/allocation_counter.h"
#include "runtime/loop_fixture.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct Joined {
    static constexpr std::string_view name = "player.joined";
    int player = 0;
    void describe(FieldSink& fields) const { fields.integer("player", player); }
};

struct Left {
    static constexpr std::string_view name = "player.left";
    int player = 0;
    std::string reason;
    void describe(FieldSink& fields) const {
        fields.integer("player", player);
        fields.text("reason", reason);
    }
};

struct EventsFixture {
    std::size_t dispatch(std::size_t most = 1'000'000) {
        const Pass pass = time.begin_pass(clock.now());
        PassBudget budget(clock);
        budget.begin_pass(pass.now);
        budget.begin_phase({most, most, pass.now});
        const std::size_t handled = events.dispatch(pass, budget);
        time.end_pass();
        return handled;
    }

    VirtualClock clock;
    KeptLines kept;
    Log log{clock, kept};
    LoopTime time{clock};
    Events events{time, log};
    std::vector<std::string> heard;
};

using Heard = std::vector<std::string>;

}  // namespace

TEST_CASE_FIXTURE(EventsFixture, "B-2: listeners by type and to all hear events in the order of publishing") {
    events.subscribe_all([&](const EventView& event) { heard.push_back("all " + std::string(event.name())); });
    events.subscribe<Joined>([&](const Joined& event) { heard.push_back("joined " + std::to_string(event.player)); });
    events.subscribe<Left>([&](const Left& event) { heard.push_back("left " + event.reason); });
    CHECK(events.publish(Joined{1}));
    CHECK(events.publish(Left{1, "bored"}));
    CHECK(events.publish(Joined{2}));
    CHECK(heard.empty());
    CHECK(events.waiting() == 3);
    CHECK(dispatch() == 3);
    CHECK(heard ==
          Heard{"joined 1", "all player.joined", "left bored", "all player.left", "joined 2", "all player.joined"});
    CHECK(dispatch() == 0);
}

TEST_CASE_FIXTURE(EventsFixture, "B-3: a listener to all gets name, time, number and fields of each event") {
    struct Seen {
        std::string name;
        std::string fields;
        Time time;
        std::uint64_t sequence;
    };
    std::vector<Seen> seen;
    events.subscribe_all([&](const EventView& event) {
        JsonFields fields;
        event.describe(fields);
        seen.push_back({std::string(event.name()), fields.finish(), event.time(), event.sequence()});
    });
    const Time published = clock.now();
    events.publish(Joined{7});
    events.publish(Left{7, "kicked"});
    clock.advance(5s);
    dispatch();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].name == "player.joined");
    CHECK(seen[0].fields == R"({"player":7})");
    CHECK(seen[0].time == published);
    CHECK(seen[0].sequence == 1);
    CHECK(seen[1].fields == R"({"player":7,"reason":"kicked"})");
    CHECK(seen[1].sequence == 2);
}

TEST_CASE_FIXTURE(EventsFixture, "B-2: a typed listener may also ask for the event's time and number") {
    std::uint64_t sequence = 0;
    events.subscribe<Joined>([&](const Joined&, const EventView& view) { sequence = view.sequence(); });
    events.publish(Left{});
    events.publish(Joined{});
    dispatch();
    CHECK(sequence == 2);
}

TEST_CASE_FIXTURE(EventsFixture,
                  "B-2: events published by listeners are handled in the same phase, after those that wait") {
    events.subscribe<Joined>([&](const Joined& event) {
        heard.push_back("joined " + std::to_string(event.player));
        if (event.player == 1) events.publish(Left{1, "at once"});
    });
    events.subscribe<Left>([&](const Left&) { heard.emplace_back("left"); });
    events.publish(Joined{1});
    events.publish(Joined{2});
    CHECK(dispatch() == 3);
    CHECK(heard == Heard{"joined 1", "joined 2", "left"});
}

TEST_CASE_FIXTURE(EventsFixture, "L-4: events that publish events forever are bounded, and go on in the next pass") {
    int handled = 0;
    events.subscribe<Joined>([&](const Joined& event) {
        ++handled;
        events.publish(Joined{event.player + 1});
    });
    events.publish(Joined{0});
    CHECK(dispatch(100) == 100);
    CHECK(handled == 100);
    CHECK(events.waiting() == 1);
    CHECK(dispatch(100) == 100);
}

TEST_CASE_FIXTURE(EventsFixture,
                  "B-2, L-5: a listener that throws is logged and counted, and the others still hear the event") {
    events.subscribe<Joined>([](const Joined&) { throw std::runtime_error("no memory of it"); });
    events.subscribe<Joined>([&](const Joined&) { heard.emplace_back("second"); });
    events.subscribe_all([](const EventView&) { throw 1; });  // NOLINT: anything may be thrown
    events.subscribe_all([&](const EventView&) { heard.emplace_back("all"); });
    events.publish(Joined{1});
    CHECK(dispatch() == 1);
    CHECK(heard == Heard{"second", "all"});
    CHECK(events.failures() == 2);
    REQUIRE(kept.lines.size() == 2);
    CHECK(kept.lines[0] == "Event player.joined listener failed error=\"no memory of it\"");
    CHECK(kept.lines[1] == "Event player.joined listener failed error=\"unknown exception\"");
}

TEST_CASE_FIXTURE(EventsFixture,
                  "B-2: a cancelled subscription hears nothing more, also when it cancels itself or the next one") {
    SubscriptionId first;
    SubscriptionId third;
    auto captured = std::make_shared<int>(0);
    const std::weak_ptr<int> whole = captured;
    first = events.subscribe<Joined>([&, captured = std::move(captured)](const Joined&) {
        CHECK(events.cancel(first));
        CHECK_FALSE(events.cancel(first));
        CHECK(events.cancel(third));
        CHECK_FALSE(whole.expired());  // what runs stays whole until it returns
        heard.emplace_back("first");
    });
    events.subscribe<Joined>([&](const Joined&) { heard.emplace_back("second"); });
    third = events.subscribe_all([&](const EventView&) { heard.emplace_back("third"); });
    events.publish(Joined{1});
    events.publish(Joined{2});
    dispatch();
    CHECK(heard == Heard{"first", "second", "second"});
    CHECK(whole.expired());
    CHECK_FALSE(events.cancel(first));
    CHECK_FALSE(events.cancel(SubscriptionId{}));
}

TEST_CASE_FIXTURE(EventsFixture, "B-2: who subscribes inside a listener hears the next event, not the present one") {
    events.subscribe<Joined>([&](const Joined& event) {
        heard.push_back("old " + std::to_string(event.player));
        if (event.player > 1) return;
        // Enough of them that every list grows while it is walked.
        for (int i = 0; i < 100; ++i) events.subscribe<Joined>([&](const Joined&) { heard.emplace_back("new"); });
        events.subscribe<Left>([](const Left&) {});
    });
    events.publish(Joined{1});
    events.publish(Joined{2});
    dispatch();
    CHECK(heard.size() == 102);
    CHECK(heard[0] == "old 1");
    CHECK(heard[1] == "old 2");
}

TEST_CASE_FIXTURE(EventsFixture, "B-2: publishing and handling take no memory once warm") {
    std::uint64_t sum = 0;
    events.subscribe<Joined>([&](const Joined& event) { sum += static_cast<std::uint64_t>(event.player); });
    events.subscribe_all([&](const EventView& event) { sum += event.sequence(); });
    const auto round = [&] {
        for (int i = 0; i < 5'000; ++i) events.publish(Joined{i});
        dispatch();
    };
    round();
    const std::uint64_t before = allocations();
    for (int i = 0; i < 10; ++i) round();
    CHECK(allocations() == before);
    CHECK(sum > 0);
}

TEST_CASE_FIXTURE(EventsFixture,
                  "B-2: more events than may wait are dropped, counted and logged, and those that wait are handled") {
    for (std::size_t i = 0; i < Events::waiting_max; ++i) events.publish(Joined{});
    CHECK_FALSE(events.publish(Joined{}));
    CHECK(events.dropped() == 1);
    CHECK(events.published() == Events::waiting_max);
    CHECK(kept.count("Event player.joined dropped: too many wait") == 1);
    CHECK(dispatch(Events::waiting_max) == Events::waiting_max);
    CHECK(events.publish(Joined{}));
}
