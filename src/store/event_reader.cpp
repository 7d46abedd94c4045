#include "store/event_reader.h"

#include "store/block_walk.h"
#include "store/store_fault.h"
#include "store/store_file.h"

namespace muster {
namespace {

enum Column : int { first_id, last_id, first_time, last_time, events };

BlockRow row_of(const Statement& query) {
    return {query.integer(first_id), query.integer(last_id), query.integer(first_time)};
}

}  // namespace

EventReader::EventReader(const std::string& path, const std::string& vfs) try
    : path_(path),
      database_(path, Database::Access::read_only, vfs),
      // From the block on that the id may be in.
      forwards_(database_.prepare(
          "SELECT first_id, last_id, first_time, last_time, events FROM event_blocks WHERE first_id >="
          " coalesce((SELECT max(first_id) FROM event_blocks WHERE first_id <= ?1), ?1) ORDER BY first_id")),
      backwards_(database_.prepare("SELECT first_id, last_id, first_time, last_time, events FROM event_blocks"
                                   " WHERE first_id < ?1 ORDER BY first_id DESC")) {
    database_.set_busy_timeout_ms(StoreFile::busy_timeout_ms);
} catch (const SqliteError& error) {
    throw cannot_open(error, path);
}

EventsFound EventReader::find(const EventSearch& search) {
    EventWalk walk(search);
    const std::lock_guard lock(mutex_);
    try {
        if (search.towards == EventSearch::Towards::newer) {
            walk_newer(search, walk);
        } else {
            walk_older(search, walk);
        }
        forwards_.reset();
        backwards_.reset();
    } catch (const SqliteError& error) {
        throw cannot_open(error, path_);
    }
    return walk.take();
}

void EventReader::walk_newer(const EventSearch& search, EventWalk& walk) {
    const auto& since = search.filter.since_ms;
    forwards_.bind(search.from);
    while (walk.wants_more()) {
        if (!forwards_.step()) return walk.end();
        // A block that is too old as a whole is not even read from the disk.
        if (since && forwards_.integer(last_time) < *since) continue;
        tell_block(row_of(forwards_), forwards_.blob(events), search, walk);
    }
}

void EventReader::walk_older(const EventSearch& search, EventWalk& walk) {
    const auto& until = search.filter.until_ms;
    backwards_.bind(search.from);
    while (walk.wants_more()) {
        if (!backwards_.step()) return walk.end();
        if (until && backwards_.integer(first_time) >= *until) continue;
        tell_block(row_of(backwards_), backwards_.blob(events), search, walk);
    }
}

void EventReader::distrust() {
    const std::lock_guard lock(mutex_);
    database_.close_without_checkpoint();
}

}  // namespace muster
