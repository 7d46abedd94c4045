// Which thread owns the game state, and a check that no other touches it (L-1).
#pragma once

#include <thread>

#include "base/check.h"

namespace muster {

// Belongs to the thread that made it until another binds it, which happens before that thread uses what it guards.
class ThreadGuard {
public:
    void bind_to_this_thread() { owner_ = std::this_thread::get_id(); }

    bool owned_by_this_thread() const { return owner_ == std::this_thread::get_id(); }

    // Debug builds end the process when another thread calls; release builds pay nothing.
    void check() const {
#ifndef NDEBUG
        MUSTER_CHECK(owned_by_this_thread(), "game state is touched by its own thread only");
#endif
    }

private:
    std::thread::id owner_ = std::this_thread::get_id();
};

}  // namespace muster
