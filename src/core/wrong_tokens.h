// Counts recent wrong tokens for a lobby, for the log. They never block the right token (fault 68): with 122 random
// bits guessing is hopeless, and a block after some guesses would let anybody lock players out.
#pragma once

#include <chrono>

#include "base/time.h"

namespace muster {

class WrongTokens {
public:
    static constexpr std::chrono::minutes window{1};
    static constexpr int told_from = 10;

    // One more. True when operators are to be told: at the tenth of a minute.
    bool add(Time now) {
        if (count_ == 0 || now - window_start_ >= Duration(window)) {
            window_start_ = now;
            count_ = 0;
        }
        return ++count_ == told_from;
    }

private:
    int count_ = 0;  // in the present minute
    Time window_start_{};
};

}  // namespace muster
