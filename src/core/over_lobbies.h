// Lobbies whose match is over: remembered, so that their number is not used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/ids.h"
#include "base/planted.h"
#include "base/time.h"
#include "core/records.h"

namespace muster {

// Each is remembered for a while, and the latest million in any case. Memory is bounded: beyond four million the oldest
// go early. Ages are monotonic: the date has no part in it. Game thread only.
class OverLobbies {
public:
    struct Bounds {
        std::size_t least = 1'000'000;
        std::size_t most = 4'000'000;
    };
    struct Over {
        ServerId server;
        MatchState how = MatchState::ended;
    };

    OverLobbies() = default;
    explicit OverLobbies(const Bounds& bounds) : bounds_(bounds) {}

    void remember_for(Duration memory) { memory_ = memory; }
    // So many will be added.
    void expect(std::size_t count) { lobbies_.reserve(count); }

    // `at` does not go backwards.
    void add(LobbyId lobby, const Over& over, Time at) {
        const std::int32_t at_s = seconds(at);
        lobbies_[lobby] = {over, at_s};
        by_age_.push_back({lobby, at_s});
        // More go than come, so that there is never much to forget at once.
        if (!planted(Bug::lobbies_leave_slowly)) forget(at, 2);
    }
    // Null when the lobby's match is not over, or so long ago that nobody remembers.
    const Over* find(LobbyId lobby) const {
        const auto found = lobbies_.find(lobby);
        return found == lobbies_.end() ? nullptr : &found->second.over;
    }
    // Forgets what is old, a bounded number at a time.
    void forget(Time now, std::size_t at_once = 10'000) {
        const std::int32_t before_s = seconds(now - memory_);
        for (; at_once > 0 && !by_age_.empty(); --at_once) {
            const Age oldest = by_age_.front();
            const bool is_old = oldest.at_s < before_s && by_age_.size() > bounds_.least;
            if (!is_old && by_age_.size() <= bounds_.most) return;
            const auto found = lobbies_.find(oldest.lobby);
            // It may have been over a second time since.
            if (found != lobbies_.end() && found->second.at_s == oldest.at_s) lobbies_.erase(found);
            by_age_.pop_front();
        }
    }
    std::size_t size() const { return lobbies_.size(); }

private:
    // Small, for there are millions.
    struct Remembered {
        Over over;
        std::int32_t at_s = 0;
    };
    struct Age {
        LobbyId lobby;
        std::int32_t at_s;
    };

    static std::int32_t seconds(Time at) {
        return static_cast<std::int32_t>(std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count());
    }

    Bounds bounds_;
    Duration memory_ = std::chrono::hours(24);
    boost::unordered_flat_map<LobbyId, Remembered, std::hash<LobbyId>> lobbies_;
    std::deque<Age> by_age_;
};

}  // namespace muster
