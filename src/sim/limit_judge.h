// Judges that nothing waits without bound, as far as core shows what waits.
// Invariant 18; fault 5.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "core/core.h"
#include "runtime/events.h"
#include "sim/judge.h"
#include "sim/rules.h"

namespace muster::sim {

class LimitJudge final : public Judge {
public:
    LimitJudge(Objections& objections, const Rules& rules) : objections_(objections), rules_(rules) {}

    void events_wait(Time now, std::size_t waiting) {
        if (waiting > Events::waiting_max) object(now, "more events wait than may");
    }
    void pass_ended(const Scene& scene, const Core& core) {
        if (core.matches().in_flight() > rules_.requests_max) object(scene.now, "too many requests are in flight");
        const Ledger& ledger = core.ledger();
        if (ledger.events_waiting() > rules_.ledger.events_waiting)
            object(scene.now, "too many events wait for the disk");
        if (ledger.promises_waiting() > rules_.ledger.promises_waiting)
            object(scene.now, "too many promises wait for the disk");
    }

private:
    void object(Time now, std::string what) { objections_.add({"invariant 18", std::move(what), {}, {}, now}); }

    Objections& objections_;
    const Rules rules_;
};

}  // namespace muster::sim
