// For tests: SQLite's way to the disk, with a disk that can fail, fill up, hang and lose its power.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"

struct sqlite3_file;
struct sqlite3_vfs;

namespace muster {

// Stands before SQLite's own way to the disk from construction to destruction. Faults may be set from any thread.
class FaultVfs {
public:
    // How a full disk shows: as SQLite's own code, or as a failed write with errno ENOSPC.
    enum class FullDisk : std::uint8_t { code, failed_write };

    FaultVfs();
    ~FaultVfs();
    FaultVfs(const FaultVfs&) = delete;
    FaultVfs& operator=(const FaultVfs&) = delete;

    // What StoreFileOptions::vfs takes.
    const std::string& name() const { return name_; }

    // From now on every sync fails with EIO, or none does. What a failed sync should have written is lost as kernels
    // lose it: programs go on reading it, later syncs pass over it, and it never reaches the disk.
    void fail_syncs(bool fail = true);
    // Bytes by which files may still grow; overwriting needs no room. Empty for a disk without end.
    void set_room(std::optional<std::int64_t> bytes, FullDisk shows_as = FullDisk::code);
    // A hanging disk: syncs wait until they are let go.
    void hold_syncs();
    void let_syncs_go();
    // Waits until a sync is being held.
    void wait_for_held_sync();

    // Called before each write, cut and sync, on the thread that does it.
    void before_each_operation(std::function<void()> call);
    std::uint64_t syncs() const;

    // The power fails at this instant: writes into `directory` what the disk may hold of each file. Synced bytes are
    // there; of the rest each sector is there or not, whatever the order of the writes was.
    void lose_power(const std::filesystem::path& directory, Random& random) const;

private:
    friend struct FaultFile;

    struct Change {
        std::int64_t offset;
        std::optional<std::string> bytes;  // empty: the file was cut at `offset`
    };
    // A file as the disk may hold it.
    struct Image {
        bool exists = false;
        std::string synced;
        std::vector<Change> unsynced;  // in order
        std::int64_t size = 0;         // as programs see it
        int last_errno = 0;
    };

    Image& image_of(const std::string& path);
    void forget(const std::string& path);
    void announce();
    // SQLITE_OK, or how the disk refuses.
    int admit_write(Image& image, std::int64_t offset, const void* bytes, int count);
    int admit_sync(Image& image);
    void cut(Image& image, std::int64_t size);
    void synced(Image& image);

    std::string name_;
    std::unique_ptr<sqlite3_vfs> vfs_;
    mutable std::mutex mutex_;
    std::condition_variable sync_held_;
    std::condition_variable sync_released_;
    std::map<std::string, Image> images_;  // open files point into it: entries stay
    std::function<void()> before_operation_;
    std::optional<std::int64_t> room_;
    FullDisk shows_as_ = FullDisk::code;
    bool syncs_fail_ = false;
    bool syncs_held_ = false;
    int held_ = 0;
    std::uint64_t syncs_ = 0;
};

}  // namespace muster
