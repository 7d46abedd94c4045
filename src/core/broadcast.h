// Sends one frame to all players, spread over passes so that it never blocks the loop (C-5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/ids.h"
#include "core/link_table.h"
#include "core/sessions.h"

namespace muster {

// Game thread only. Links and sessions outlive it.
class Broadcast {
public:
    // Sessions that one pass looks at.
    static constexpr std::size_t per_pass = 5'000;

    Broadcast(LinkTable& links, const Sessions& sessions) : links_(links), sessions_(sessions) {}

    // Frames that are encoded already; they take the place of what has not gone out yet.
    void start(std::span<const std::byte> frames) {
        frames_.assign(frames.begin(), frames.end());
        next_ = 0;
        end_ = sessions_.places();
    }

    // Somebody is still to hear it. Whoever logs in meanwhile may be among them or not.
    bool busy() const { return next_ < end_; }

    // One pass's share. Returns how many it was sent to.
    std::size_t pump() {
        if (!busy()) return 0;
        const auto stop = std::min<std::size_t>(end_, next_ + per_pass);
        to_.clear();
        for (; next_ < stop; ++next_) {
            const Session& session = sessions_.at(static_cast<Sessions::Place>(next_));
            if (session.taken && session.connected()) to_.push_back(session.link);
        }
        links_.send_to_all(to_, frames_);
        return to_.size();
    }

private:
    LinkTable& links_;
    const Sessions& sessions_;
    std::vector<std::byte> frames_;
    std::size_t next_ = 0;
    std::size_t end_ = 0;
    std::vector<ConnectionId> to_;
};

}  // namespace muster
