#include "base/guess_pace.h"

#include <algorithm>

namespace muster {

GuessPace::Verdict GuessPace::wrong(Time now, const IpAddress& from) {
    const IpAddress network = from.network();
    auto found = by_network_.find(network);
    if (found == by_network_.end()) {
        if (by_network_.size() >= addresses_max)
            std::erase_if(by_network_, [now](const auto& entry) { return now - entry.second.since >= window; });
        if (by_network_.size() >= addresses_max) return {false, 0, pace};
        found = by_network_.emplace(network, OfAddress{0, now, now}).first;
    }
    OfAddress& of = found->second;
    if (now - of.since >= window) {
        of.wrong = 0;
        of.since = now;
    }
    ++of.wrong;
    Verdict verdict{of.wrong == 1, of.wrong, Duration{0}};
    if (of.wrong >= slow_from_) {
        of.next_answer = std::clamp<Time>(of.next_answer + pace, now + pace, now + delay_max);
        verdict.delay = of.next_answer - now;
    }
    return verdict;
}

}  // namespace muster
