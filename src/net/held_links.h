// Links with bytes that need not leave at once. A send call costs more than all else that is done for a message, and at
// 20,000 matches a second each matchmaker hears of something every half millisecond.
#pragma once

#include <chrono>
#include <cstddef>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "net/connection.h"
#include "net/turn_time.h"

namespace muster {

// Such bytes leave together every `apart`, or with the first others for their link. After a quiet time they leave at
// once. The worker's thread only.
class HeldLinks {
public:
    static constexpr Duration apart = std::chrono::milliseconds(2);
    // Of one link: a quarter of the least that `limits.unsent_bytes` can be.
    static constexpr std::size_t bytes_max = std::size_t{16} * 1024;

    // A turn begins. True when what is held is to leave in it: see take().
    bool begin_turn(const TurnTime& at) {
        is_time_ = at.running >= next_;
        return is_time_ && !links_.empty();
    }

    // The bytes need not leave at once. False, and nothing kept, when they may as well.
    bool hold(Connection& link, std::span<const std::byte> bytes, const TurnTime& at) {
        if (is_time_) next_ = at.running + apart;
        if (is_time_ || link.send_side != SendSide::ready || link.out.size() + bytes.size() > bytes_max) return false;
        const bool is_listed = !link.out.empty();
        try {
            if (!is_listed) links_.push_back(link.id);
            link.out.append(bytes, *link.budget);
        } catch (const std::bad_alloc&) {
            return false;
        }
        return true;
    }

    // Those that hold something, or did: it may have left with other bytes since. Empties `links`.
    void take(std::vector<ConnectionId>& links, const TurnTime& at) {
        links.clear();
        links.swap(links_);
        next_ = at.running + apart;
    }

    // When a turn is wanted for them.
    std::optional<Time> due() const { return links_.empty() ? std::nullopt : std::optional(next_); }

private:
    std::vector<ConnectionId> links_;
    Time next_ = Time::min();
    bool is_time_ = true;  // in this turn
};

}  // namespace muster
