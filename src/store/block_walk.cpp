#include "store/block_walk.h"

#include <algorithm>
#include <vector>

#include "base/packed_fields.h"
#include "store/event_block.h"

namespace muster {
namespace {

// What was read of a block before its damage reaches up to `read_to`.
EventRecord damage_of(const BlockRow& row, std::int64_t read_to) {
    const std::int64_t first = std::max(row.first_id, read_to + 1);
    PackedFields fields;
    fields.integer("first_id", first);
    fields.integer("last_id", std::max(first, row.last_id));
    return {first, UnixMs{row.first_time}, std::string(damage_event), fields.finish()};
}

// A block that was cut off between two events is no less damaged.
bool is_damaged(const EventBlockReader& block, const BlockRow& row, bool read_to_its_end, std::int64_t read_to) {
    return block.is_damaged() || (read_to_its_end && read_to != row.last_id);
}

void tell_newer(const BlockRow& row, std::string_view bytes, const EventSearch& search, EventWalk& walk) {
    EventBlockReader block(bytes);
    std::int64_t read_to = row.first_id - 1;
    bool at_end = false;
    while (walk.wants_more()) {
        if (!block.next()) {
            at_end = true;
            break;
        }
        read_to = block.id();
        if (read_to > search.from) walk.tell(block);
    }
    if (!at_end || !is_damaged(block, row, at_end, read_to)) return;
    const EventRecord damage = damage_of(row, read_to);
    if (damage.id > search.from) walk.tell(RecordedEvent{damage});
}

// A block can only be read from its beginning: which of its events are wanted is known at its end.
void tell_older(const BlockRow& row, std::string_view bytes, const EventSearch& search, EventWalk& walk) {
    constexpr std::size_t bytes_of_event = 32;  // or somewhat more
    std::vector<EventBlockReader::Event> before;
    before.reserve(bytes.size() / bytes_of_event);
    EventBlockReader block(bytes);
    std::int64_t read_to = row.first_id - 1;
    bool at_end = true;
    while (block.next()) {
        if (block.id() >= search.from) {
            at_end = false;
            break;
        }
        read_to = block.id();
        before.push_back(block.event());
    }
    if (is_damaged(block, row, at_end, read_to)) {
        const EventRecord damage = damage_of(row, read_to);
        if (damage.id < search.from && walk.wants_more()) walk.tell(RecordedEvent{damage});
    }
    for (auto event = before.rbegin(); event != before.rend() && walk.wants_more(); ++event)
        walk.tell(block.at(*event));
}

}  // namespace

void tell_block(const BlockRow& row, std::string_view bytes, const EventSearch& search, EventWalk& walk) {
    if (search.towards == EventSearch::Towards::newer) {
        tell_newer(row, bytes, search, walk);
    } else {
        tell_older(row, bytes, search, walk);
    }
}

}  // namespace muster
