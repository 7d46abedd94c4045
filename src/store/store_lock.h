// One daemon per store: the store itself is locked, and a lock file beside it says who holds it. Other programs may go
// on reading the store (fault 7).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace muster {

// Held from construction to destruction, and given up by the system when the process dies.
class StoreLock {
public:
    // Locks `<store_path>.lock`, made with mode 0600 when it is missing, and writes our process id into it. Fails with
    // StoreError 73 naming the process that holds it, or what kept the file from being made. Whoever made the file
    // removes it at its end, if it gets to one.
    explicit StoreLock(const std::string& store_path);
    ~StoreLock();
    StoreLock(const StoreLock&) = delete;
    StoreLock& operator=(const StoreLock&) = delete;

private:
    bool open_file();
    bool is_in_place() const;

    const std::string path_;
    int file_ = -1;
    bool made_ = false;
};

// The lock on the store itself, which no deleted lock file can take away, and the eye on its place. It lies on a byte
// that SQLite does not use, and belongs to this open file alone. Must outlive every connection to the store: closing
// the file drops SQLite's own locks. One thread at a time.
class StoreHold {
public:
    // The file is there. Fails with StoreError: 73 when another process holds it.
    explicit StoreHold(const std::string& store_path);
    ~StoreHold();
    StoreHold(const StoreHold&) = delete;
    StoreHold& operator=(const StoreHold&) = delete;

    // True when the file, or its write-ahead log, is no longer what stands at its path, or somebody else wrote into the
    // file: what is written now would be gone after a restart.
    bool misplaced();
    // We have written into the file itself, which only moving the log does.
    void written() { contents_ = contents(); }

private:
    struct Identity {
        dev_t device;
        ino_t inode;
        friend bool operator==(const Identity&, const Identity&) = default;
    };
    // What every write into the file changes.
    struct Contents {
        off_t size;
        time_t seconds;
        long nanoseconds;
        friend bool operator==(const Contents&, const Contents&) = default;
    };
    static std::optional<Identity> at(const std::string& path);
    std::optional<Contents> contents() const;

    const std::string path_;
    const std::string log_path_;
    int file_;
    Identity identity_{};
    std::optional<Identity> log_;       // from when it was first seen
    std::optional<Contents> contents_;  // from when it was first looked at, or last written
};

}  // namespace muster
