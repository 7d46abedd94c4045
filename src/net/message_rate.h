// How many messages a connection may still send: a bucket that holds one second's worth (W-7).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace muster {

// The credit is kept as time: a message costs 1 s / rate. So a changed rate needs no conversion.
//
// Time in which Muster did not read the peer adds credit beyond the one second: the backlog is our fault, and a peer
// that kept to its rate must not count as a flood afterwards.
class MessageRate {
public:
    static constexpr Duration burst = std::chrono::seconds(1);

    // Full. `unread` is how long Muster had left the port unread before; it only grows.
    MessageRate(Time now, Duration unread) : now_(now), unread_(unread) {}

    // `now` leaves out the time that `unread` counts.
    void refill(Time now, Duration unread) {
        if (credit_ < burst) credit_ = std::min(credit_ + (now - now_), burst);
        credit_ += unread - unread_;
        now_ = now;
        unread_ = unread;
    }

    // False when the bucket is empty.
    bool take(Duration cost) {
        if (credit_ < cost) return false;
        credit_ -= cost;
        return true;
    }

    // All that piled up has been read: the bucket holds one second's worth again.
    void caught_up() { credit_ = std::min(credit_, burst); }

    // Until there is credit for a tenth of a second, or for one message if that is more.
    Duration until_refilled(Duration cost) const {
        const Duration wanted = std::max<Duration>(burst / 10, cost);
        return std::max(wanted - credit_, Duration::zero());
    }

    static Duration cost_at(std::uint32_t messages_per_second) {
        return messages_per_second == 0 ? Duration::zero() : burst / messages_per_second;
    }

private:
    Duration credit_ = burst;
    Time now_;
    Duration unread_;
};

}  // namespace muster
