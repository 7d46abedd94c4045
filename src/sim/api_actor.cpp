#include "sim/api_actor.h"

#include <cmath>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

}  // namespace

void ApiActor::begin() {
    const double per_minute = stage_.conditions.api_asks_per_minute;
    if (per_minute <= 0) return;
    const double minutes = -std::log(1.0 - random_.unit()) / per_minute;
    stage_.agenda.in(std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::ratio<60>>(minutes)),
                     [this] {
                         if (stage_.calm) return;
                         ask();
                         begin();
                     });
}

void ApiActor::ask() {
    const bool again = !asked_.empty() && random_.chance(0.3);
    if (again && random_.chance(0.3))
        return host_.cancel(asked_[random_.below(asked_.size())], random_.chance(0.5) ? "" : "not wanted any more");
    const LobbyId lobby = again ? asked_[random_.below(asked_.size())] : LobbyId(++stage_.last_lobby);
    if (!again) asked_.push_back(lobby);
    if (random_.chance(0.2))
        host_.ask(MatchPlayers{lobby, {{AccountId(lobby.value * 10), AccountId(lobby.value * 10 + 1)}}});
    const auto regions = static_cast<std::uint64_t>(stage_.conditions.regions);
    host_.ask(AllocationRequest{lobby, 6, 0, region_ids[random_.below(regions)],
                                static_cast<std::int8_t>(random_.between(1, 6)), 1650});
}

}  // namespace muster::sim
