// The session of one process under its lock: the agent's thread and those that serve the process meet here.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace muster {

// Any thread. A session decides without I/O, as agones::Session and gsdk::Session do.
template <class Session>
class LockedSession {
public:
    void set(std::optional<Session> session) {
        const std::scoped_lock lock(mutex_);
        session_ = std::move(session);
    }

    // Runs work(session, now) if there is one. The threads read the clock each for itself, and the session's time must
    // not go back: `now` is never less than before. False when there is none.
    template <class Work>
    bool with(Time now, Work work) {
        const std::scoped_lock lock(mutex_);
        last_ = std::max(last_, now);
        if (session_) work(*session_, last_);
        return session_.has_value();
    }
    template <class Work>
    bool look(Work work) const {
        const std::scoped_lock lock(mutex_);
        if (session_) work(*session_);
        return session_.has_value();
    }

    std::optional<Time> next_tick() const {
        std::optional<Time> next;
        look([&](const Session& session) { next = session.next_tick(); });
        return next;
    }
    std::string saved() const {
        std::string text;
        look([&](const Session& session) { text = session.saved(); });
        return text;
    }

private:
    mutable std::mutex mutex_;
    std::optional<Session> session_;
    Time last_{};
};

}  // namespace muster
