// Events as a store keeps them: many in one run of bytes, about 30 bytes each. No SQL in here; any engine can keep
// blocks.
//
// A block is a sequence of entries. Each begins with a varint: the entry's length, and in the lowest bit whether it is
// a name (1) or an event (0). A name gets the next number, from 0 on; events name their type and their fields by these
// numbers, so a name stands in a block once. An event is, in varints: how much its id and its time (zigzag) are beyond
// those of the event before, the number of its type, and its fields; of a field, its name's number and its kind in one
// varint, then its value as in packed fields.
//
// Behind the last entry stands a seal: a zero, "MC", and the CRC-32 of all bytes before, lowest byte first. No entry
// begins with a zero. A block without a seal was written before there were any, and is read as it is.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "core/event_search.h"
#include "core/records.h"

namespace muster {

// Builds a block.
class EventBlock {
public:
    // Its id is greater than the last one's.
    void add(const EventRecord& event);
    void clear();

    bool empty() const { return count_ == 0; }
    std::int64_t count() const { return count_; }
    std::int64_t first_id() const { return first_id_; }
    std::int64_t last_id() const { return last_id_; }
    // The least and the greatest.
    UnixMs first_time() const { return first_time_; }
    UnixMs last_time() const { return last_time_; }
    const std::string& bytes() const { return bytes_; }
    // The bytes with their seal, as they are kept.
    std::string sealed();

private:
    struct TextHash {
        using is_transparent = void;
        // By its ends: the names of types and fields are ours, and few.
        std::size_t operator()(std::string_view text) const {
            std::uint64_t first = 0;
            std::uint64_t last = 0;
            const std::size_t some = std::min(text.size(), sizeof first);
            if (some > 0) std::memcpy(&first, text.data(), some);
            if (some > 0) std::memcpy(&last, text.data() + text.size() - some, some);
            return static_cast<std::size_t>(first * 31 + last + text.size());
        }
    };

    std::uint64_t number_of(std::string_view name);

    std::string bytes_;
    std::string entry_;      // of the event that is being added
    std::uint32_t sum_ = 0;  // CRC-32 of the first `summed_` bytes
    std::size_t summed_ = 0;
    boost::unordered_flat_map<std::string, std::uint64_t, TextHash, std::equal_to<>> names_;
    std::int64_t count_ = 0;
    std::int64_t first_id_ = 0;
    std::int64_t last_id_ = 0;
    std::int64_t time_before_ = 0;
    UnixMs first_time_{};
    UnixMs last_time_{};
};

// Reads a block, event by event, as an EventWalk takes them. The bytes outlive it.
class EventBlockReader {
public:
    // Bytes that their seal does not fit are damaged as a whole.
    explicit EventBlockReader(std::string_view bytes);

    // Stands on the next event. False at the end, and where the bytes are no block; is_damaged() tells which.
    bool next();
    bool is_damaged() const { return damaged_; }

    // One event of the block, to come back to.
    struct Event {
        std::int64_t id = 0;
        std::int64_t time = 0;
        std::string_view type;
        std::string_view fields;
    };
    const Event& event() const { return event_; }
    // Stands on an event that it stood on before.
    const EventBlockReader& at(const Event& event) {
        event_ = event;
        return *this;
    }

    // Of the event that it stands on.
    std::int64_t id() const { return event_.id; }
    UnixMs time() const { return UnixMs{event_.time}; }
    std::string_view type() const { return event_.type; }
    bool has(std::string_view name, std::int64_t value) const;
    EventRecord record() const;

private:
    struct Sought {
        std::int64_t value = 0;
        bool is_nowhere = false;
    };

    template <class Visit>
    void visit_fields(Visit visit) const;
    bool stop(bool damaged);
    // True when no event of the block can have this integer.
    bool is_nowhere(std::int64_t value) const;

    std::string_view bytes_;
    std::string_view rest_;
    std::vector<std::string_view> names_;
    Event event_;
    bool damaged_ = false;
    mutable std::array<Sought, 3> sought_;  // what has() was asked for; a filter has three ids
    mutable std::size_t sought_count_ = 0;
};

// All events of a block; false when it is damaged, with those before the damage.
bool read_block(std::string_view bytes, std::vector<EventRecord>& events);

}  // namespace muster
