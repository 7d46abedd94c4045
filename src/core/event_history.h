// The audit history: events become lines in the store (B-3).
#pragma once

#include "base/issued_time.h"
#include "core/ledger.h"
#include "core/numbers.h"
#include "runtime/events.h"

namespace muster {

// An entity's end is no line of its own where its session ends with it and says so: what a peer can do in a loop, such
// as logging in and out, is to leave as few lines as tell it (S-7).
//
// Game thread only. Listens for as long as it lives; all it is given outlives it.
class EventHistory {
public:
    EventHistory(Events& events, Ledger& ledger, Numbers& numbers, IssuedTime& issued);

private:
    void note(const EventView& event);

    Ledger& ledger_;
    Numbers& numbers_;
    IssuedTime& issued_;
};

}  // namespace muster
