// How a view is made: step by step, so that the loop does other things in between and nobody who looks holds it up.
//
// Each step is at a moment of its own, and tells the truth of that moment: a match that began between two of them may
// be in a view whose row of its server does not count it yet.
#pragma once

#include <cstddef>
#include <utility>

#include "base/time.h"
#include "core/sessions.h"
#include "core/views.h"
#include "runtime/pass.h"

namespace muster {

class Core;

struct ViewWalk {
    // Rows that a step adds at least, and how many steps it takes of very many rows.
    static constexpr std::size_t rows_least = 256;
    static constexpr std::size_t steps_about = 500;
};

class FleetWalk {
public:
    // Game thread. `pass` is the present one, `time` what its date is. True when that was the last step.
    bool step(const Core& core, const Pass& pass, UnixMs time);
    // After the last step, on any thread.
    FleetView take() { return std::move(view_); }

private:
    void add_the_rest(const Core& core, const Pass& pass);

    FleetView view_;
};

class PlayersWalk {
public:
    // The same.
    bool step(const Core& core, const Pass& pass, UnixMs time);
    // Puts them in order. A player that was seen in two places, in between a logout and a login, is kept as it was seen
    // last.
    PlayersView take();

private:
    PlayersView view_;
    Sessions::Place place_ = 0;
};

}  // namespace muster
