#include "store/event_block.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/packed_fields.h"
#include "base/random.h"

using namespace muster;

namespace {

EventRecord offered(std::int64_t id, UnixMs time, std::int64_t lobby) {
    PackedFields fields;
    fields.integer("lobby_id", lobby);
    fields.integer("region", 2);
    fields.integer("server_id", id % 1000);
    fields.text("request_id", "18bcfe5687b-1f4a2");
    return {id, time, "match.offered", fields.finish()};
}

std::vector<EventRecord> samples() {
    std::vector<EventRecord> events;
    for (std::int64_t id = 1; id <= 100; ++id) {
        events.push_back(offered(10 * id, UnixMs{1'700'000'000'000 + id * id}, id));
        if (id % 10 == 0) events.push_back({10 * id + 1, UnixMs{-5}, "", {}});
        PackedFields fields;
        fields.real("silence_seconds", 0.5);
        fields.flag("draining", id % 2 == 0);
        fields.begin_object("inside");
        fields.integer("lobby_id", 4711);
        fields.end_object();
        events.push_back({10 * id + 2, UnixMs{1'700'000'000'000 + id * id}, "server.removed", fields.finish()});
    }
    return events;
}

EventBlock block_of(const std::vector<EventRecord>& events) {
    EventBlock block;
    for (const EventRecord& event : events) block.add(event);
    return block;
}

}  // namespace

TEST_CASE("B-3: a block gives back its events as they were, with their span of ids and times") {
    const auto events = samples();
    EventBlock block = block_of(events);
    std::vector<EventRecord> read;
    CHECK(read_block(block.bytes(), read));
    CHECK(read == events);
    CHECK(block.count() == static_cast<std::int64_t>(events.size()));
    CHECK(block.first_id() == 10);
    CHECK(block.last_id() == 1002);
    CHECK(block.first_time() == UnixMs{-5});
    CHECK(block.last_time() == UnixMs{1'700'000'010'000});
    block.clear();
    CHECK(block.empty());
    block.add(events[5]);
    read.clear();
    CHECK(read_block(block.bytes(), read));
    CHECK(read == std::vector{events[5]});
}

TEST_CASE("B-3: an id is found in a block by its name, and not inside of a group") {
    const EventBlock block = block_of(samples());
    EventBlockReader reader(block.bytes());
    std::size_t found = 0;
    while (reader.next()) {
        if (reader.has("lobby_id", 42)) ++found;
        CHECK_FALSE(reader.has("lobby_id", 4711));
        CHECK_FALSE(reader.has("player_id", 42));
    }
    CHECK(found == 1);
}

TEST_CASE("B-3: an event of a block has the integers that its record has, whichever and however many are asked for") {
    const std::string bytes = block_of(samples()).sealed();
    std::vector<std::int64_t> values{0, -1, 2, 64, 4'711, 1LL << 40, std::numeric_limits<std::int64_t>::min()};
    for (std::int64_t value = 1; value < 300; ++value) values.push_back(value);
    for (std::size_t first = 0; first < values.size(); ++first) {
        EventBlockReader reader(bytes);
        while (reader.next()) {
            const EventRecord record = reader.record();
            for (std::size_t more = 0; more < 5; ++more) {
                const std::int64_t value = values[(first + more) % values.size()];
                for (const char* name : {"lobby_id", "server_id", "region", "player_id"})
                    REQUIRE(reader.has(name, value) == has_integer(record.fields, name, value));
            }
        }
        REQUIRE_FALSE(reader.is_damaged());
    }
}

TEST_CASE("fault 6: a sealed block tells each bit that was changed and each byte that is missing") {
    const std::string whole = block_of(samples()).sealed();
    std::vector<EventRecord> read;
    CHECK(read_block(whole, read));
    CHECK(read.size() == samples().size());
    constexpr std::size_t seal_size = 7;
    for (std::size_t at = 0; at + seal_size < whole.size(); ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            std::string spoilt = whole;
            spoilt[at] = static_cast<char>(spoilt[at] ^ (1 << bit));
            EventBlockReader reader(spoilt);
            CHECK_FALSE(reader.next());
            CHECK(reader.is_damaged());
        }
    }
    // A seal that lost its mark is an entry that cannot be.
    for (std::size_t length = whole.size() - seal_size + 1; length < whole.size(); ++length) {
        read.clear();
        CHECK_FALSE(read_block(whole.substr(0, length), read));
    }
    // Blocks without a seal are read as ever.
    read.clear();
    CHECK(read_block(block_of(samples()).bytes(), read));
    CHECK(read.size() == samples().size());
}

TEST_CASE("fault 6: a block that was cut or spoilt is told to be damaged or reads as other events, never beyond it") {
    const EventBlock block = block_of(samples());
    const std::string& whole = block.bytes();
    std::size_t damaged = 0;
    for (std::size_t length = 1; length < whole.size(); ++length) {
        std::vector<EventRecord> read;
        if (!read_block(std::string(whole, 0, length), read)) ++damaged;
        CHECK(read.size() <= samples().size());
    }
    CHECK(damaged > whole.size() / 2);
    Random random(11);
    for (int i = 0; i < 20'000; ++i) {
        std::string spoilt = whole;
        for (int bytes = 0; bytes < 3; ++bytes)
            spoilt[random.below(spoilt.size())] = static_cast<char>(random.below(256));
        EventBlockReader reader(spoilt);
        while (reader.next()) {
            static_cast<void>(reader.record());
            static_cast<void>(reader.has("lobby_id", 1));
        }
    }
}
