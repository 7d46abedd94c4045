// When the next heartbeat is due, and which of those sent were not answered yet. Answers come in the order of the
// heartbeats.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>

#include "muster/time.h"

namespace muster::sdk {

class Heartbeats {
public:
    explicit Heartbeats(Duration interval) : interval_(interval) {}

    // The link is up: the first one is due at once.
    void begin(Time now) {
        next_ = now;
        unanswered_.clear();
    }
    void stop() {
        next_.reset();
        unanswered_.clear();
    }

    bool due(Time now) const { return next_ && now >= *next_; }
    void sent(Time now) {
        unanswered_.push_back(now);
        if (!next_) return;
        // Keeps its phase, but makes up for nothing after a long pause.
        *next_ += interval_;
        if (*next_ <= now) next_ = now + interval_;
    }
    // When the one that is answered now was sent. Nothing when none was.
    std::optional<Time> answered() {
        if (unanswered_.empty()) return std::nullopt;
        const Time sent = unanswered_.front();
        unanswered_.pop_front();
        return sent;
    }

    // Muster takes a link that was silent for 1.5 intervals for dead; so do we.
    bool overdue(Time now) const { return !unanswered_.empty() && now >= overdue_at(); }
    std::optional<Time> next_tick() const {
        if (unanswered_.empty() || !next_) return next_;
        return std::min(*next_, overdue_at());
    }

private:
    Time overdue_at() const { return unanswered_.front() + interval_ * 3 / 2; }

    Duration interval_;
    std::optional<Time> next_;     // none while there is no link
    std::deque<Time> unanswered_;  // when each was sent
};

}  // namespace muster::sdk
