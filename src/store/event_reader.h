// Reads the event history over a connection of its own, so that reading never delays a commit.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "core/event_search.h"
#include "core/records.h"
#include "store/database.h"

namespace muster {

// Any thread. Readers take turns.
class EventReader {
public:
    // The file is open for writing already. Fails with StoreError.
    EventReader(const std::string& path, const std::string& vfs);

    // Fails with StoreError when the disk cannot be read. A damaged block is told as tell_block() does it.
    EventsFound find(const EventSearch& search);

    // After a failure of the store: the close writes nothing.
    void distrust();

private:
    const std::string path_;
    std::mutex mutex_;
    Database database_;  // guarded by mutex_, like the next
    Statement forwards_;
    Statement backwards_;

    void walk_newer(const EventSearch& search, EventWalk& walk);
    void walk_older(const EventSearch& search, EventWalk& walk);
};

}  // namespace muster
