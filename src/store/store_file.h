// The store's file: made when it is missing, checked before anything is written, refused when it is not what it should
// be (fault 6).
#pragma once

#include <cstdint>
#include <string>

#include "store/database.h"
#include "store/migrations.h"
#include "store/store_lock.h"

namespace muster {

struct StoreFileOptions {
    std::string path{};
    std::string vfs{};  // SQLite's way to the disk, empty for its own
    Migrations migrations = muster_migrations();
    // Up to this size all of the file is checked at the start. Of a larger one, only the tables that a start reads
    // whole: the history is found damaged when it is touched.
    std::int64_t checked_bytes_max = 64 << 20;
};

// The file, locked and open for writing, in today's version, mode 0600, with a write-ahead log and full syncs.
class StoreFile {
public:
    // How long another program's lock is waited for.
    static constexpr int busy_timeout_ms = 250;

    // Fails with StoreError: 65 when the file is damaged, truncated, newer, not a store or no regular file; 73 when it
    // is in use; 74 when it cannot be made or the disk fails. A file that is refused is left as it was.
    explicit StoreFile(const StoreFileOptions& options);

    Database& database() { return database_; }
    const Database& database() const { return database_; }
    // True when the file no longer stands at its path, or somebody else wrote into it.
    bool misplaced() { return hold_.misplaced(); }
    // The log was moved into the file, or part of it.
    void written() { hold_.written(); }
    // Absolute, without links.
    const std::string& path() const { return path_; }

private:
    std::string path_;
    StoreLock lock_;
    StoreHold hold_;
    Database database_;
};

// What was renamed or made beside `path` is there after a power loss. Throws StoreError.
void sync_directory_of(const std::string& path);

}  // namespace muster
