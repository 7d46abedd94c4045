// The latest events in memory, for live streams and most queries of the history.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/views.h"

namespace muster {

// Any thread. The store's thread appends and never waits long for a reader: a reader takes a piece at a time, of at
// most `limit` events.
//
// The ring is there whether anybody reads or not, so its events are packed one behind the other: some 10 bytes and
// their fields, where a record with its strings takes 150 more.
class EventRing {
public:
    using Event = std::shared_ptr<const EventRecord>;
    static constexpr std::size_t capacity_usual = 2'048;

    explicit EventRing(std::size_t capacity = capacity_usual) : capacity_(capacity) {}

    // What the store kept, oldest first, before anything is appended; `all` when it holds nothing older.
    void preload(const std::vector<EventRecord>& newest, bool all);

    // An event that has become durable. Ids ascend; an event with an id seen before is skipped.
    void append(const EventRecord& event);

    // At most `limit`: those with a greater id, oldest first; those with a smaller id, newest first.
    std::vector<Event> after(std::int64_t id, std::size_t limit) const;
    std::vector<Event> before(std::int64_t id, std::size_t limit) const;

    // Events up to this id are not in the ring; the store may have them.
    std::int64_t floor() const;
    // 0 when there was none.
    std::int64_t last_id() const;

private:
    // Some events in a row. Of each, in varints: how far its id and its time (zigzag) are beyond those of the one
    // before, the number of its type, how long its fields are; then the fields.
    struct Chunk {
        std::int64_t last_id = 0;
        std::int64_t last_time = 0;
        std::size_t count = 0;
        std::string bytes;
    };
    static constexpr std::size_t chunk_events = 64;

    // Goes through a chunk.
    struct Reader {
        std::string_view rest;
        std::int64_t id = 0;
        std::int64_t time = 0;
        std::uint64_t type = 0;
        std::string_view fields{};

        bool next();
    };

    void push(const EventRecord& event);
    void drop_first();
    std::uint64_t number_of(const std::string& type);
    Event event_of(const Reader& at) const;

    const std::size_t capacity_;
    mutable std::mutex mutex_;
    std::deque<Chunk> chunks_;       // guarded by mutex_, as is all that follows; by ascending id
    Reader dropped_;                 // of the first chunk: the last event that left the ring; its `rest` is not used
    std::size_t dropped_bytes_ = 0;  // of the first chunk
    std::size_t size_ = 0;
    std::vector<std::string> types_;  // by their numbers; there are as many as kinds of events
    std::int64_t floor_ = 0;
    std::int64_t last_id_ = 0;
};

}  // namespace muster
