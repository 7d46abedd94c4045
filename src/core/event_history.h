// The audit history: events become lines in the store (B-3).
#pragma once

#include "base/issued_time.h"
#include "core/id_blocks.h"
#include "core/ledger.h"
#include "runtime/events.h"

namespace muster {

// When an entity ends with its session, only the session's end is recorded: what a peer can repeat at will, such as
// logging in and out, should write as few events as possible (S-7). For the same reason one request a second that was
// refused with "Server busy" is recorded: a flood must not keep the disk busy that it waits for (fault 66).
//
// Game thread only. Listens for as long as it lives; all it is given outlives it.
class EventHistory {
public:
    EventHistory(Events& events, Ledger& ledger, IdBlocks& numbers, IssuedTime& issued);

private:
    void note(const EventView& event);

    Ledger& ledger_;
    IdBlocks& numbers_;
    IssuedTime& issued_;
    Time busy_next_{};
};

}  // namespace muster
