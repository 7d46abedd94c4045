// What Muster is configured with. Shorter times for players than a daemon's keep a run cheap.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "core/ledger.h"
#include "core/match_news.h"
#include "core/world_clock.h"

namespace muster::sim {

struct Rules {
    std::size_t requests_max = 10'000;  // in flight
    Duration ping_interval = std::chrono::seconds(30);
    Duration ping_timeout = std::chrono::seconds(60);
    Duration idle_after = std::chrono::seconds(40);
    Duration idle_kick_after = std::chrono::seconds(120);
    Duration resume_grace = std::chrono::seconds(30);
    bool heartbeats = true;
    Duration heartbeat_interval = std::chrono::seconds(5);
    int heartbeats_failed_max = 2;
    GameTime clock_start;
    std::int32_t clock_speed = 60;
    LedgerLimits ledger;
    std::size_t news_portion = MatchNews::portion_bytes;
};

// Whatever is due is done in a pass, and a pass may be late by as much as does not count as a gap (L-8).
inline constexpr Duration lateness_max = std::chrono::milliseconds(1'050);

}  // namespace muster::sim
