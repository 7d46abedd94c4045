// What the matches count beside their events.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "base/ids.h"
#include "protocol/error_texts.h"

namespace muster {

struct MatchFigures {
    std::map<RegionId, std::uint64_t> requests;
    std::map<RegionId, std::uint64_t> retries;
    std::array<std::uint64_t, static_cast<std::size_t>(last_refusal) + 1> token_refusals{};
    std::uint64_t tokens_accepted = 0;
    std::uint64_t bad_acks = 0;
    std::uint64_t lost_matches = 0;       // F-7, A-9, fault 48
    std::uint64_t recovered = 0;          // allocations found at the start
    std::uint64_t recovered_dropped = 0;  // of them, those that their server did not hold any more

    std::uint64_t& refused(Refusal why) { return token_refusals[static_cast<std::size_t>(why)]; }
};

}  // namespace muster
