// How many wrong tokens were tried for a lobby lately. They are counted and told, and never keep the right one out
// (fault 68): 122 random bits make guessing hopeless, and who blocks after some guesses lets anybody block.
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
