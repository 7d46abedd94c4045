// The latest events in memory, for live streams and most queries of the history.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "core/views.h"

namespace muster {

// Any thread. The store's thread appends and never waits long for a reader: a reader copies pointers, not events.
class EventRing {
public:
    using Event = std::shared_ptr<const EventRecord>;
    static constexpr std::size_t capacity_usual = 10'000;

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
    void push(const EventRecord& event);

    const std::size_t capacity_;
    mutable std::mutex mutex_;
    std::deque<Event> events_;  // guarded by mutex_, as is all that follows; by ascending id
    std::int64_t floor_ = 0;
    std::int64_t last_id_ = 0;
};

}  // namespace muster
