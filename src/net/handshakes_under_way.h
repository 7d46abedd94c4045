// TLS handshakes that a worker has begun and that are not over: how many more it may begin.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>

#include "base/ids.h"
#include "base/time.h"

namespace muster {

// The worker's thread only.
//
// OpenSSL takes some 40 KB for each handshake. When a whole fleet comes at once (fault 28) and answers slower than it
// is begun, thousands would be open together, and the allocator keeps most of that memory afterwards, between the keys
// of the links: 3 to 20 KiB a link with 10,000 of them. So few are open together, and the others wait for their turn.
//
// Whoever does not answer for `patience` does not count any more. So peers that are begun and fall silent hold others
// up for so long at most (fault 75): four times `at_once` begin in each second even if nobody ever answers.
class HandshakesUnderWay {
public:
    // A fleet that answers after 0.2 s gets 2,560 handshakes a second, which is what one core does at 0.4 ms each;
    // 10,000 game servers are back in 4 s (fault 28).
    static constexpr std::size_t default_at_once = 512;
    static constexpr Duration patience = std::chrono::milliseconds(250);

    explicit HandshakesUnderWay(std::size_t at_once = default_at_once) : at_once_(at_once) {}

    bool has_room() const { return begun_.size() < at_once_; }
    // When there is room again, if none of them ends before; only when there is none.
    std::optional<Time> room_at() const {
        if (has_room()) return std::nullopt;
        return begun_.front().since + patience;
    }

    // Its first step is taken now.
    void begin(ConnectionId link, Time now) { begun_.push_back({link, now}); }

    // Forgets whose handshake is over, as `is_over(link)` says, and who has taken too long; only when there is no room:
    // to look at all of them costs less than one more handshake.
    template <class IsOver>
    void make_room(Time now, IsOver is_over) {
        if (has_room()) return;
        std::erase_if(begun_, [&](const Begun& one) { return now - one.since >= patience || is_over(one.link); });
    }

private:
    struct Begun {
        ConnectionId link;
        Time since;
    };

    const std::size_t at_once_;
    std::deque<Begun> begun_;  // the first to begin is first; `at_once_` at most
};

}  // namespace muster
