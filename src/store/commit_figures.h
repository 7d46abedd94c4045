// Counts and durations of commits, for every kind of store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "store/store.h"

namespace muster {

// Any thread.
class CommitFigures {
public:
    CommitFigures();

    // A transaction of `records` records became durable and took that long.
    void committed(std::size_t records, Duration took);
    // A transaction did not become durable.
    void failed(StoreFault fault);
    // The store went beyond repair.
    void died();

    // How much the store holds, how much room is left on its disk, and whether its file is still in its place.
    void measured(std::int64_t history_bytes, std::int64_t free_bytes, bool misplaced);

    // Everything but the queue's depth, which the store knows.
    StoreFigures now() const;

private:
    mutable std::mutex mutex_;
    StoreFigures figures_;  // guarded by mutex_; its histogram counts each bucket alone until it is handed out
};

}  // namespace muster
