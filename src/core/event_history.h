// The audit history: events become lines in the store (B-3).
#pragma once

#include <cstddef>
#include <deque>

#include "base/issued_time.h"
#include "base/packed_fields.h"
#include "core/id_blocks.h"
#include "core/ledger.h"
#include "core/records.h"
#include "runtime/events.h"

namespace muster {

// When an entity ends with its session, only the session's end is recorded: what a peer can repeat at will, such as
// logging in and out, should write as few events as possible (S-7). For the same reason one request a second that was
// refused with "Server busy" is recorded: a flood must not keep the disk busy that it waits for (fault 66).
//
// Game thread only. Listens for as long as it lives; all it is given outlives it.
class EventHistory {
public:
    // So many events wait for a number at a start, until the store has given some; further ones are left out.
    static constexpr std::size_t waiting_max = 10'000;

    EventHistory(Events& events, Ledger& ledger, IdBlocks& ids, IssuedTime& issued);

    // Writes what waits, if there are numbers by now. In every pass.
    void write_waiting();

private:
    void note(const EventView& event);
    bool write(EventRecord& record);

    Ledger& ledger_;
    IdBlocks& ids_;
    IssuedTime& issued_;
    Time busy_next_{};
    PackedFields fields_;  // of the event that is noted
    std::deque<EventRecord> waiting_;
};

}  // namespace muster
