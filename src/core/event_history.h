// The audit history: every event becomes a line in the store (B-3).
#pragma once

#include "base/issued_time.h"
#include "core/ledger.h"
#include "core/numbers.h"
#include "runtime/events.h"

namespace muster {

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
