// Matches that are over as a store still has them whole, for whoever shows the past.
#pragma once

#include <vector>

#include "base/time.h"
#include "core/records.h"

namespace muster {

struct PastMatches {
    struct Use {
        TokenUsed used;
        UnixMs at;
    };
    std::vector<MatchRecord> matches;  // oldest end first
    std::vector<Use> uses;             // who was let in to them, oldest first
};

}  // namespace muster
