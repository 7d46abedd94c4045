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
    // StoreError 73 naming the process that holds it, or what kept the file from being made.
    explicit StoreLock(const std::string& store_path);
    ~StoreLock();
    StoreLock(const StoreLock&) = delete;
    StoreLock& operator=(const StoreLock&) = delete;

private:
    int file_;
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

    // True when the file, or its write-ahead log, is no longer what stands at its path: what is written now would be
    // gone after a restart.
    bool misplaced();

private:
    struct Identity {
        dev_t device;
        ino_t inode;
        friend bool operator==(const Identity&, const Identity&) = default;
    };
    static std::optional<Identity> at(const std::string& path);

    const std::string path_;
    const std::string log_path_;
    int file_;
    Identity identity_{};
    std::optional<Identity> log_;  // from when it was first seen
};

}  // namespace muster
