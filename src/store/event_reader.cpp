#include "store/event_reader.h"

#include <algorithm>
#include <limits>

#include "store/store_fault.h"
#include "store/store_file.h"

namespace muster {

EventReader::EventReader(const std::string& path, const std::string& vfs) try
    : path_(path),
      database_(path, Database::Access::read_only, vfs),
      forwards_(database_.prepare("SELECT id, time, type, fields FROM events WHERE id > ?1 ORDER BY id LIMIT ?2")),
      backwards_(
          database_.prepare("SELECT id, time, type, fields FROM events WHERE id < ?1 ORDER BY id DESC LIMIT ?2")) {
    database_.set_busy_timeout_ms(StoreFile::busy_timeout_ms);
} catch (const SqliteError& error) {
    throw cannot_open(error, path);
}

std::vector<EventRecord> EventReader::events_after(std::int64_t after_id, std::size_t limit) {
    return read(forwards_, after_id, limit);
}

std::vector<EventRecord> EventReader::events_before(std::int64_t before_id, std::size_t limit) {
    return read(backwards_, before_id, limit);
}

std::vector<EventRecord> EventReader::read(Statement& query, std::int64_t from_id, std::size_t limit) {
    constexpr std::size_t limit_max = std::numeric_limits<std::int32_t>::max();
    std::vector<EventRecord> found;
    const std::lock_guard lock(mutex_);
    try {
        query.bind(from_id, std::min(limit, limit_max));
        while (query.step())
            found.push_back({query.integer(0), UnixMs{query.integer(1)}, query.text(2), query.text(3)});
    } catch (const SqliteError& error) {
        throw cannot_open(error, path_);
    }
    return found;
}

void EventReader::distrust() {
    const std::lock_guard lock(mutex_);
    database_.close_without_checkpoint();
}

}  // namespace muster
