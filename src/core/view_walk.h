// Makes a view step by step, so that the loop can work in between and readers never block it.
//
// Each step shows the state at its own moment: a match that began between two steps may be in a view whose row of its
// server does not count it yet.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "base/time.h"
#include "core/sessions.h"
#include "core/views.h"
#include "runtime/pass.h"

namespace muster {

class Core;

// How far a walk goes in a step: so few rows that nobody waits long for the loop, and more the longer its passes take,
// so that the walk comes to an end however busy the loop is.
class WalkPace {
public:
    static constexpr std::size_t rows_least = 256;
    static constexpr std::size_t rows_per_ms = 500;

    std::size_t rows(const Pass& pass);

private:
    std::optional<Time> before_;  // when the last step was
};

class FleetWalk {
public:
    using View = FleetView;

    // Game thread. `pass` is the present one, `time` what its date is. True when that was the last step.
    bool step(const Core& core, const Pass& pass, UnixMs time);
    // After the last step, on any thread. A server that left and came anew in between may be there twice, with both its
    // ids.
    FleetView take() { return std::move(view_); }

private:
    void add_the_rest(const Core& core, const Pass& pass);

    WalkPace pace_;
    FleetView view_;
};

class PlayersWalk {
public:
    using View = PlayersView;

    // The same.
    bool step(const Core& core, const Pass& pass, UnixMs time);
    // Puts them in order. A player that logged out and in again in between was seen in two places, and is kept as it
    // was seen last, or in none.
    PlayersView take();

private:
    WalkPace pace_;
    PlayersView view_;
    Sessions::Place place_ = 0;
};

class HostsWalk {
public:
    using View = HostsView;

    // The same.
    bool step(const Core& core, const Pass& pass, UnixMs time);
    HostsView take() { return std::move(view_); }

private:
    // One of them may have two thousand processes.
    static constexpr std::size_t hosts_per_step = 4;

    HostsView view_;
};

}  // namespace muster
