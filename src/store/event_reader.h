// Reads the event history over a connection of its own, so that reading never delays a commit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/records.h"
#include "store/database.h"

namespace muster {

// Any thread. Readers take turns.
class EventReader {
public:
    // The file is open for writing already. Fails with StoreError.
    EventReader(const std::string& path, const std::string& vfs);

    // Up to `limit` events after `after_id`, newest last. Fails with StoreError when the disk cannot be read.
    std::vector<EventRecord> events_after(std::int64_t after_id, std::size_t limit);

    // Up to `limit` events before `before_id`, newest first. Fails likewise.
    std::vector<EventRecord> events_before(std::int64_t before_id, std::size_t limit);

    // After a failure of the store: the close writes nothing.
    void distrust();

private:
    const std::string path_;
    std::mutex mutex_;
    Database database_;  // guarded by mutex_, like the next
    Statement forwards_;
    Statement backwards_;

    std::vector<EventRecord> read(Statement& query, std::int64_t from_id, std::size_t limit);
};

}  // namespace muster
