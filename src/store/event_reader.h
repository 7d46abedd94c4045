// The event history for readers: a connection of its own, so that reading never holds up a commit.
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

    // After a failure of the store: the close writes nothing.
    void distrust();

private:
    const std::string path_;
    std::mutex mutex_;
    Database database_;  // guarded by mutex_, like the next
    Statement query_;
};

}  // namespace muster
