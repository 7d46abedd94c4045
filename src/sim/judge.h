// What every judge of the simulation is made of: what it hears, and how it objects.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/time.h"
#include "core/core.h"
#include "core/records.h"
#include "core/world_clock.h"
#include "protocol/port.h"
#include "sim/network.h"

namespace muster::sim {

// The HTTP API, which asks as a matchmaker does, over a link that never ends.
inline constexpr LinkNumber api_link = ~LinkNumber{0};

// A rule was broken.
struct Objection {
    std::string rule;  // such as "invariant 3" or "A-10"
    std::string what;
    LobbyId lobby;    // that it is about, if any
    ServerId server;  // the same
    Time when;
};

// Only the first counts: what follows a broken rule proves nothing.
class Objections {
public:
    void add(Objection objection) {
        if (!first_) first_ = std::move(objection);
    }
    const std::optional<Objection>& first() const { return first_; }

private:
    std::optional<Objection> first_;
};

// When something happened, and what core was doing then.
struct Scene {
    Time now;
    Time running;  // as the loop counts it (L-8)
    // The frame that core was handling; code 0 when it was a timer, the store or an operator.
    Code cause = 0;
    LinkNumber cause_link = 0;
    LobbyId cause_lobby;  // of an AllocationRequest
    // Timers that are due were left for the next pass (L-4): what they do may be late by that (invariant 15). Never for
    // longer than `lateness_max`.
    bool timers_left = false;
};

// What an operator did, as core was asked.
struct OperatorDrain {
    ServerId server;
    bool draining = false;
};

// The same, of the world's clock.
struct OperatorClock {
    std::optional<GameTime> time;
    std::optional<std::int32_t> speed;
};

// The base of all judges. They hear everything in the very order in which it happened: what core was told, what it
// sent, and what it published, merged. A judge overrides what it cares for; each knows the rules from SPEC.md and
// FAULTS.md alone, and never asks core why.
struct Judge {
    template <class M>
    void heard(const Scene&, LinkNumber, const M&) {}
    template <class M>
    void said(const Scene&, LinkNumber, const M&) {}
    template <class E>
    void happened(const Scene&, const E&) {}
    void opened(const Scene&, LinkNumber, Port) {}
    // Core was told that the link is gone.
    void closed(const Scene&, LinkNumber) {}
    // Core wants the link closed.
    void close_asked(const Scene&, LinkNumber) {}
    void drained(const Scene&, const OperatorDrain&) {}
    void kicked(const Scene&, AccountId) {}
    void clock_set(const Scene&, const OperatorClock&) {}
    void shut_down(const Scene&) {}
    // In this moment, whatever core knows of it.
    void durable(Time, const RecordBatch&) {}
    // The store has dropped what is too old of the history; these are left.
    void pruned(Time, const std::map<std::int64_t, EventRecord>&) {}
    // A run of Muster begins. `core` has recovered, and nobody has asked it anything.
    void run_began(const Scene&, const Core&) {}
    void run_ended(Time) {}
    // Core is at rest between two passes.
    void pass_ended(const Scene&, const Core&) {}
};

}  // namespace muster::sim
