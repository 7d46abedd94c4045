// What the storm's peers have planned, by time.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "moment.h"

namespace muster::storm {

// One thread.
class Agenda {
public:
    void at(Moment when, std::function<void()> deed) { deeds_.push({when, next_++, std::move(deed)}); }
    void in(Span delay, std::function<void()> deed) { at(now() + delay, std::move(deed)); }

    // Does what is due; a deed may plan others.
    void turn(Moment until) {
        while (!deeds_.empty() && deeds_.top().when <= until) {
            const std::function<void()> deed = deeds_.top().deed;
            deeds_.pop();
            deed();
        }
    }
    Moment next(Moment latest) const { return deeds_.empty() ? latest : std::min(latest, deeds_.top().when); }

private:
    struct Planned {
        Moment when;
        std::uint64_t number;
        std::function<void()> deed;
        bool operator<(const Planned& other) const {
            return std::pair(when, number) > std::pair(other.when, other.number);
        }
    };
    std::priority_queue<Planned> deeds_;
    std::uint64_t next_ = 0;
};

}  // namespace muster::storm
