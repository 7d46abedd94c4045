#include "store/event_reader.h"

#include <algorithm>
#include <limits>

#include "store/store_fault.h"
#include "store/store_file.h"

namespace muster {

EventReader::EventReader(const std::string& path, const std::string& vfs) try
    : path_(path),
      database_(path, Database::Access::read_only, vfs),
      query_(database_.prepare("SELECT id, time, type, fields FROM events WHERE id > ?1 ORDER BY id LIMIT ?2")) {
    database_.set_busy_timeout_ms(StoreFile::busy_timeout_ms);
} catch (const SqliteError& error) {
    throw cannot_open(error, path);
}

std::vector<EventRecord> EventReader::events_after(std::int64_t after_id, std::size_t limit) {
    constexpr std::size_t limit_max = std::numeric_limits<std::int32_t>::max();
    std::vector<EventRecord> found;
    const std::lock_guard lock(mutex_);
    try {
        query_.bind(after_id, std::min(limit, limit_max));
        while (query_.step())
            found.push_back({query_.integer(0), UnixMs{query_.integer(1)}, query_.text(2), query_.text(3)});
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
