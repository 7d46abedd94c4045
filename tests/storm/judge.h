// The outside judge: what honest peers saw, weighed against what the weather excuses.
#pragma once

#include <optional>
#include <string>

#include "daemon_process.h"
#include "latencies.h"
#include "weather.h"

namespace muster::storm {

struct JudgeLimits {
    LatencyLimits latency;
    std::size_t memory_growth_bytes = 96u << 20;  // over what the calm took
    std::size_t store_growth_bytes = 96u << 20;
    std::size_t descriptors_left = 64;  // over the calm's, once the attackers are gone
    Span silence{15'000'000'000};       // of a daemon that runs: every request is answered by then
};

// One thread.
class Judge {
public:
    Judge(const Weather& weather, const JudgeLimits& limits)
        : weather_(weather), limits_(limits), latencies_(limits.latency) {}

    // Keeps the first objection; an empty one is none.
    void object(std::string objection);
    void object(std::optional<std::string> objection) {
        if (objection) object(std::move(*objection));
    }
    const std::optional<std::string>& objection() const { return objection_; }

    // A request was answered. It counts for the p99 when nothing excused a delay.
    void answered(Service service, Moment asked, Moment at);
    // True when a request of that age must have been answered by now.
    bool overdue(Moment asked, Moment at) const { return weather_.running(asked, at) > limits_.silence; }
    // An honest peer's link was closed by the daemon, or could not be opened.
    void link_lost(const std::string& whose, Moment at);
    void noise(Span late) { latencies_.add_noise(late); }
    // The storm's own thread was busy with something else than its links for so long.
    void did_not_read(Span away) { latencies_.add_away(away); }
    void synced(Span took) { latencies_.add_sync(took); }
    void crowding(double threads) { latencies_.add_crowding(threads); }

    void calm_over(const Footprint& footprint, std::size_t store_bytes);
    void footprint(const Footprint& footprint, std::size_t store_bytes);
    // The attackers have been gone for a while.
    void attackers_gone(const Footprint& footprint);
    std::string act_figures() const { return latencies_.figures(); }
    void act_over(const std::string& act);
    std::size_t speeds_judged() const { return latencies_.judged(); }

private:
    const Weather& weather_;
    JudgeLimits limits_;
    Latencies latencies_;
    std::optional<std::string> objection_;
    Footprint calm_;
    std::size_t calm_store_bytes_ = 0;
};

}  // namespace muster::storm
