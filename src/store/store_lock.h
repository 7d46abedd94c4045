// One daemon per store: a lock file beside it says who holds it. Other programs may go on reading the store (fault 7).
#pragma once

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

}  // namespace muster
