// How soon one transaction may follow another. A sync costs the same however much it makes durable: a busy store that
// always began the next one at once would spend most of its CPU on syncs.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace muster {

// One every `apart`; after a quiet time a few at once, so that whoever comes now and then does not wait. One thread.
class CommitPace {
public:
    static constexpr int burst = 8;

    explicit CommitPace(Duration apart) : apart_(apart) {}

    // A transaction is wanted `now`: how long to rest before it begins, `apart` at most.
    Duration begin(Time now) {
        due_ = std::clamp(due_, now - (burst - 1) * apart_, now + apart_);
        const Duration rest = std::max(due_ - now, Duration::zero());
        due_ += apart_;
        return rest;
    }

private:
    const Duration apart_;
    Time due_ = Time::min();  // the next one, at the earliest
};

}  // namespace muster
