#include "runtime/event_queue.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/json_fields.h"
#include "runtime/allocation_counter.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct Counted {
    static constexpr std::string_view name = "test.counted";
    std::uint64_t number = 0;
    std::shared_ptr<int> held;
    void describe(FieldSink& fields) const { fields.integer("number", static_cast<std::int64_t>(number)); }
};

struct Large {
    static constexpr std::string_view name = "test.large";
    std::array<std::byte, EventQueue::event_bytes_max> bytes{};
    void describe(FieldSink&) const {}
};

struct ThrowsWhenCopied {
    static constexpr std::string_view name = "test.throws";
    ThrowsWhenCopied() = default;
    ThrowsWhenCopied(const ThrowsWhenCopied&) { throw std::runtime_error("copied"); }
    ThrowsWhenCopied& operator=(const ThrowsWhenCopied&) = delete;
    ~ThrowsWhenCopied() = default;
    void describe(FieldSink&) const {}
};

}  // namespace

TEST_CASE("B-2: events of different types come out in the order they went in, as they went in") {
    EventQueue queue;
    for (std::uint64_t i = 0; i < 1'000; ++i) {
        queue.push(Counted{i, nullptr}, Time(i * 1ms), i + 1);
        if (i % 7 == 0) queue.push(Large{}, Time(i * 1ms), i + 1);
    }
    std::uint64_t larges = 0;
    for (std::uint64_t i = 0; i < 1'000; ++i) {
        const EventView event = queue.front();
        REQUIRE(event.as<Counted>());
        CHECK_FALSE(event.as<Large>());
        CHECK(event.as<Counted>()->number == i);
        CHECK(event.sequence() == i + 1);
        CHECK(event.time() == Time(i * 1ms));
        queue.pop();
        if (i % 7 != 0) continue;
        CHECK(queue.front().name() == "test.large");
        queue.pop();
        ++larges;
    }
    CHECK(larges == 143);
    CHECK(queue.empty());
}

TEST_CASE("B-2: an event describes itself to whoever asks") {
    EventQueue queue;
    queue.push(Counted{7, nullptr}, Time(), 1);
    JsonFields fields;
    queue.front().describe(fields);
    CHECK(fields.finish() == R"({"number":7})");
}

TEST_CASE("B-2: every event is destroyed once, handled or not") {
    const auto held = std::make_shared<int>(0);
    {
        EventQueue queue;
        for (std::uint64_t i = 0; i < 5'000; ++i) queue.push(Counted{i, held}, Time(), i);
        CHECK(held.use_count() == 5'001);
        for (int i = 0; i < 2'000; ++i) queue.pop();
        CHECK(held.use_count() == 3'001);
    }
    CHECK(held.use_count() == 1);
}

TEST_CASE("B-2: an event whose copy throws is not queued, and the queue goes on") {
    EventQueue queue;
    const ThrowsWhenCopied thrower;
    CHECK_THROWS_AS(queue.push(thrower, Time(), 1), std::runtime_error);
    CHECK(queue.empty());
    queue.push(Counted{1, nullptr}, Time(), 1);
    CHECK_THROWS_AS(queue.push(thrower, Time(), 2), std::runtime_error);
    queue.push(Counted{2, nullptr}, Time(), 2);
    CHECK(queue.size() == 2);
    queue.pop();
    CHECK(queue.front().as<Counted>()->number == 2);
}

TEST_CASE("B-2: a warm queue takes no memory, and a burst's memory goes back but for a bounded rest") {
    EventQueue queue;
    const auto burst = [&queue](std::uint64_t events) {
        for (std::uint64_t i = 0; i < events; ++i) queue.push(Counted{i, nullptr}, Time(), i);
        while (!queue.empty()) queue.pop();
    };
    burst(1'000);
    const std::uint64_t before = allocations();
    for (int round = 0; round < 100; ++round) burst(1'000);
    CHECK(allocations() == before);

    const std::uint64_t in_spares = EventQueue::spare_chunks_max * (EventQueue::chunk_bytes / 64);
    burst(in_spares * 4);
    const std::uint64_t after_burst = allocations();
    burst(in_spares * 4);
    CHECK(allocations() - after_burst > 2 * EventQueue::spare_chunks_max);
}
