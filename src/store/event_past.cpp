#include "store/event_past.h"

#include <algorithm>
#include <limits>
#include <ranges>
#include <vector>

#include "store/event_block.h"
#include "store/settled_date.h"

namespace muster {
namespace {

constexpr std::int64_t before_all = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t after_all = std::numeric_limits<std::int64_t>::max();

}  // namespace

EventPast::EventPast(Database& database)
    : next_(database.prepare("SELECT first_id, first_time, last_time, count FROM event_blocks WHERE first_id > ?1"
                             " ORDER BY first_id LIMIT 1")),
      previous_(database.prepare("SELECT first_id, first_time, last_time, count FROM event_blocks WHERE first_id < ?1"
                                 " ORDER BY first_id DESC LIMIT 1")),
      read_(database.prepare("SELECT events FROM event_blocks WHERE first_id = ?1")),
      drop_(database.prepare("DELETE FROM event_blocks WHERE first_id = ?1")),
      put_(database.prepare("INSERT INTO event_blocks (first_id, last_id, first_time, last_time, count, events)"
                            " VALUES (?1, ?2, ?3, ?4, ?5, ?6)")) {}

EventPast::Removed EventPast::remove_before(const KeptPast& kept, std::int64_t events_max) {
    Removed removed;
    auto block = block_after(before_all);
    for (; block && removed.events < events_max; block = block_after(block->first_id)) {
        if (block->first_time > kept.date) continue;
        if (block->first_time >= kept.since) return removed;
        if (block->last_time < kept.since) {
            remove(*block);
            removed.events += block->count;
        } else {
            removed.events += trim(*block, [&](const EventRecord& event, auto) { return event.time < kept.since; });
        }
        removed.latest = std::max(removed.latest, std::min(block->last_time, kept.since));
    }
    removed.more = block.has_value();
    return removed;
}

EventPast::Removed EventPast::remove_oldest(std::int64_t events) {
    Removed removed;
    auto block = block_after(before_all);
    for (; block && removed.events < events; block = block_after(block->first_id)) {
        const std::int64_t left = events - removed.events;
        if (block->count <= left) {
            remove(*block);
            removed.events += block->count;
            removed.latest = std::max(removed.latest, block->last_time);
        } else {
            removed.events += trim(*block, [&](const EventRecord& event, std::int64_t place) {
                if (place >= left) return false;
                removed.latest = std::max(removed.latest, event.time);
                return true;
            });
            removed.more = true;
            return removed;
        }
    }
    removed.more = block.has_value();
    return removed;
}

std::optional<UnixMs> EventPast::latest_date() {
    LastedDate lasted;
    for (auto block = block_before(after_all); block; block = block_before(block->first_id)) {
        const std::vector<EventRecord> events = events_of(*block);
        if (events.empty() && !lasted.add(block->last_time)) break;
        for (const EventRecord& event : std::views::reverse(events)) {
            if (!lasted.add(event.time)) return lasted.date();
        }
    }
    return lasted.date();
}

std::optional<EventPast::Block> EventPast::block_after(std::int64_t first_id) {
    next_.bind(first_id);
    return block_of(next_);
}

std::optional<EventPast::Block> EventPast::block_before(std::int64_t first_id) {
    previous_.bind(first_id);
    return block_of(previous_);
}

std::optional<EventPast::Block> EventPast::block_of(Statement& query) {
    if (!query.step()) return std::nullopt;
    const Block block{query.integer(0), UnixMs{query.integer(1)}, UnixMs{query.integer(2)}, query.integer(3)};
    query.reset();
    return block;
}

void EventPast::remove(const Block& block) {
    drop_.run(block.first_id);
}

std::int64_t EventPast::trim(const Block& block, const std::function<bool(const EventRecord&, std::int64_t)>& is_past) {
    EventBlock kept;
    std::int64_t place = 0;
    for (const EventRecord& event : events_of(block)) {
        if (!is_past(event, place++)) kept.add(event);
    }
    remove(block);
    if (!kept.empty())
        put_.run(kept.first_id(), kept.last_id(), kept.first_time().value, kept.last_time().value, kept.count(),
                 Blob{kept.sealed()});
    return block.count - kept.count();
}

// Of a damaged block, those before the damage.
std::vector<EventRecord> EventPast::events_of(const Block& block) {
    std::vector<EventRecord> events;
    read_.bind(block.first_id);
    if (read_.step()) static_cast<void>(read_block(read_.blob(0), events));
    read_.reset();
    return events;
}

}  // namespace muster
