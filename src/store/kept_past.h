// Which part of the history is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/time.h"
#include "store/history_limits.h"

namespace muster {

// Events, failed requests, servers that left and lists that nobody asked for are kept from `since` on. A match that is
// over is kept for as long, and besides that its lobby is remembered from `lobbies_since` on, or while it is
// among the latest `lobbies_least`, but not beyond the latest `lobbies_most`.
struct KeptPast {
    static constexpr std::size_t lobbies_least_usual = 1'000'000;
    static constexpr std::size_t lobbies_most_usual = 4'000'000;

    // All of it from `since` on.
    explicit(false) KeptPast(UnixMs all_since) : since(all_since), lobbies_since(all_since) {}
    KeptPast(UnixMs past_since, UnixMs over_since)
        : since(past_since), lobbies_since(over_since), lobbies_least(lobbies_least_usual) {}

    UnixMs since;
    UnixMs lobbies_since;
    UnixMs date{std::numeric_limits<std::int64_t>::max()};  // today: what is dated beyond it, a wrong clock dated
    std::size_t lobbies_least = 0;
    std::size_t lobbies_most = lobbies_most_usual;
};

// What the limits keep when `now` is the date.
inline KeptPast kept_of(const HistoryLimits& limits, UnixMs now) {
    const auto before = [now](Duration keep) {
        return UnixMs{now.value - std::chrono::duration_cast<std::chrono::milliseconds>(keep).count()};
    };
    KeptPast kept(before(limits.keep), before(limits.lobbies));
    kept.date = now;
    return kept;
}

}  // namespace muster
